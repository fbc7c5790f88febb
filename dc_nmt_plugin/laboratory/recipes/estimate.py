"""The hours of a training: timed by some updates of fairseq-train on this machine."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, STDOUT
from tempfile import TemporaryDirectory
from typing import IO

from ...errors import UserError, counted
from ...flags import recorded_flags
from ..evaluation.logs import parse_statistics
from ..steps import running
from .done import has_text
from .execution import Progress, duration
from .plan import TrainPlan, visible_gpus

SECONDS = 20  # of timed training, at least
SLOW, TIMED = 5, 5  # first updates, which are slower, and the fewest that are timed after them
SAVED = 30  # the first update with a validation and a checkpoint
PATIENCE = 40  # seconds after which nobody waits for this validation
NOT_IN_IT = "not in it: preparing the text, averaging, decoding and scoring"


@dataclass
class Timing:
    """What is timed of a training; seconds."""

    updates: list[float] = field(default_factory=list)
    updates_per_epoch: float = 0.0
    validation: float | None = None  # with its checkpoint
    began: float = 0.0  # after the slow updates
    before: float | None = None  # time of the last update
    validates: bool = False  # since the last update

    def add_update(self, now: float, number: int, epochs: float) -> None:
        """Counts an update; its time is that since the update before."""
        self.updates_per_epoch = number / epochs
        if number <= SLOW:
            self.began = now
        elif self.before is not None and not self.validates:
            self.updates.append(now - self.before)
        elif self.before is not None and self.validation is None:
            self.validation = now - self.before
        self.before, self.validates = now, False

    def is_enough(self, now: float) -> bool:
        passed = now - self.began
        if len(self.updates) < TIMED or passed < SECONDS:
            return False
        return self.validation is not None or passed > PATIENCE


def estimate(plans: Sequence[TrainPlan], jobs: str | None, progress: Progress) -> list[str]:
    """Times each system whose text is prepared; returns lines with the hours of its runs.

    Args:
        plans: of all runs
        jobs: number of runs at the same time, of ``--jobs``
        progress: prints what is timed

    Raises:
        UserError: a training fails
    """
    by_system: dict[str, list[TrainPlan]] = {}
    for plan in plans:
        by_system.setdefault(re.sub(r"-s\d+$", "", str(plan.run.folder)), []).append(plan)
    lines, total = [], 0.0
    for system, runs in by_system.items():
        name = Path(system).name
        if not has_text(runs[0].run):
            lines.append(f"{name}: hours unknown; prepare the text first")
            continue
        progress.say(f"{name}: timing, half a minute or some updates")
        seconds, about = _hours(runs[0], _timed(runs[0]))
        lines.append(f"{name}: {about}")
        total += len(runs) * seconds
    if len(plans) > 1 and total:
        number = counted(len(plans), "run")
        lines.append(f"{number}, one after the other: {duration(total)}")
        slots = max(1, visible_gpus()) if jobs == "gpus" else int(jobs or 1)
        if slots > 1:
            rounds = -(-len(plans) // slots) * total / len(plans)
            lines.append(f"{number}, {slots} at a time, if none slows another: {duration(rounds)}")
    return [*lines, NOT_IN_IT]


def _hours(plan: TrainPlan, timing: Timing) -> tuple[float, str]:
    """Returns the seconds of a whole training, and a sentence about them."""
    from ...machine import used_device

    updates = plan.settings.updates
    update = sum(timing.updates) / len(timing.updates)
    seconds, beside = updates * update, "without validation, which was not timed"
    if timing.validation is not None:
        number = updates // plan.settings.save_every + int(updates / timing.updates_per_epoch)
        seconds += number * timing.validation
        beside = f"with {counted(number, 'validation')}"
    device = used_device(recorded_flags(plan.words)) or "an unknown device"
    about = f"{duration(seconds)} for {counted(updates, 'update')} of {update:.3g} s, {beside}"
    return seconds, f"{about}; by {counted(len(timing.updates), 'update')} on {device}"


def _timed(plan: TrainPlan) -> Timing:
    """Trains a little in a folder that goes away."""
    folder = plan.run.folder.parent
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".estimate-", dir=folder) as temporary:
        every = min(SAVED, plan.settings.updates)
        words = [*plan.words, "--log-interval", "1", "--save-interval-updates", str(every)]
        words += ["--save-dir", f"{temporary}/checkpoints"]
        tail: deque[str] = deque(maxlen=20)
        with running(words, stdout=PIPE, stderr=STDOUT) as process:
            assert process.stdout is not None
            timing = _follow(process.stdout, tail)
            process.terminate()
            process.wait()
    if not timing.updates:
        raise UserError("--estimate: fairseq-train made too few updates:\n" + "".join(tail))
    return timing


def _follow(output: IO[bytes], tail: deque[str]) -> Timing:
    """Times the updates, and the first validation between two of them."""
    timing = Timing()
    for raw in output:
        now, line = time.monotonic(), raw.decode("utf-8", "replace")
        tail.append(line)
        kind, values = parse_statistics(line.rstrip("\n")) or ("", {})
        if kind == "valid":
            timing.validates = True
        elif kind == "train_inner":
            timing.add_update(now, int(values["num_updates"]), float(values["update"]))
        if timing.is_enough(now):
            break
    return timing
