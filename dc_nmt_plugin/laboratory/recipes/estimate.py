"""What a training costs: measured by some updates of fairseq-train on this machine, else unknown.

A measurement stays beside the runs. It is for every run of these settings, whatever its seed and
its number of updates.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import PIPE, STDOUT
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING

from ...errors import UserError, counted
from ...files import read_json, write_json
from ...flags import flag_value, recorded_flags
from ...steps import running, stamp_of

if TYPE_CHECKING:
    from .execution import Progress
    from .plan import TrainPlan

FOLDER = "estimates"  # beside the runs
SECONDS = 20  # of training in a measurement, at least
PATIENCE = 40  # seconds after which it is left out how long a validation takes
SLOW, TIMED = 5, 5  # first updates, which are slower, and the fewest that are timed after them
SAVED = 30  # the first update with a validation and a checkpoint
# flags that change how much is done, not how fast, or that only a prepared text has
OF_LENGTH = (
    "--max-update",
    "--save-interval-updates",
    "--keep-interval-updates",
    "--log-interval",
    "--warmup-updates",
    "--total-num-update",
    "--max-tokens-valid",
)
OF_MACHINE = ("GPUS", "CPU", "UPDATE_FREQ", "MAX_TOKENS")  # variables
NOT_IN_IT = "not in it: preparing the text, averaging, decoding and scoring"


@dataclass(frozen=True)
class Measurement:
    """Speed and size of a training. None: not known."""

    device: str
    date: str
    timed: int  # updates
    update: float  # seconds, as those below
    updates_per_epoch: float
    validation: float | None = None
    saving: float | None = None
    checkpoint: int | None = None  # bytes
    memory: int | None = None  # bytes, of the GPU if there is one


@dataclass(frozen=True)
class Cost:
    """What a whole training takes."""

    seconds: float
    disk: int | None  # bytes of its checkpoints


def path_of(plan: TrainPlan) -> Path:
    """Returns the file of a measurement, which runs of other seeds and lengths share."""
    words = list(plan.stage.steps[0].lines[0].words)
    for flag in OF_LENGTH:
        if flag in words:
            at = words.index(flag)
            del words[at : at + 2]
    variables = (*plan.variables, *plan.stage.variables)
    machine = {each.name: each.shell for each in variables if each.name in OF_MACHINE}
    name = f"{plan.settings.arch}-{stamp_of([words, machine])}.json"
    return plan.run.folder.parent / FOLDER / name


def known(plan: TrainPlan) -> Measurement | None:
    """Returns the measurement for a training, if there is one."""
    path = path_of(plan)
    return read_json(path, Measurement) if path.is_file() else None


# -- what a measurement says -------------------------------------------------------------------


def cost(plan: TrainPlan, measured: Measurement) -> Cost:
    """Returns the cost of a whole training."""
    validations, checkpoints = _validations_and_checkpoints(plan, measured)
    seconds = plan.settings.updates * measured.update
    seconds += validations * (measured.validation or 0) + checkpoints * (measured.saving or 0)
    kept = max(1, plan.settings.average) + 2  # and the best and the last one
    return Cost(seconds, measured.checkpoint and kept * measured.checkpoint)


def _validations_and_checkpoints(plan: TrainPlan, measured: Measurement) -> tuple[int, int]:
    settings, words = plan.settings, plan.command
    epochs = int(settings.updates / measured.updates_per_epoch)
    saved = -(-settings.updates // settings.save_every)
    validations = saved + epochs // int(flag_value(words, "--validate-interval") or 1)
    return (0 if "--disable-validation" in words else validations), saved + epochs


def sentence(plan: TrainPlan, measured: Measurement | None) -> str:
    """Returns the cost of one training in words."""
    name = _system(plan)
    updates = counted(plan.settings.updates, "update")
    if measured is None:
        when = "" if _has_text(plan) else " when its text is prepared"
        return f"{name}: hours unknown for {updates}; --estimate measures them{when}"
    whole = cost(plan, measured)
    validations, checkpoints = _validations_and_checkpoints(plan, measured)
    with_them = f"{counted(validations, 'validation')} and {counted(checkpoints, 'checkpoint')}"
    if measured.validation is None:
        with_them = "without validation and checkpoints, which were not timed"
    parts = [
        f"{name}: {duration(whole.seconds)} for {updates} of {measured.update:.3g} s, {with_them}"
    ]
    if measured.memory:
        parts.append(f"{bytes_text(measured.memory)} of memory")
    if whole.disk:
        parts.append(f"{bytes_text(whole.disk)} of checkpoints")
    parts.append(f"by {counted(measured.timed, 'update')} on {measured.device} on {measured.date}")
    return "; ".join(parts)


def lines(plans: Sequence[TrainPlan]) -> list[str]:
    """Returns the cost of each system and of all runs together, and what both leave out."""
    systems = _systems(plans)
    measurements = [known(plan) for plan in systems]
    texts = [sentence(*pair) for pair in zip(systems, measurements, strict=True)]
    if not any(measurements):
        return texts
    if len(plans) > 1:
        texts.append(f"{counted(len(plans), 'run')}, one after the other: {total(plans)}")
    texts_of = {plan.run.text.data for plan in plans}
    text = sum(path.stat().st_size for data in texts_of for path in data.rglob("*.*"))
    return [*texts, f"{bytes_text(text)} of prepared text; {NOT_IN_IT}"]


def total(plans: Sequence[TrainPlan]) -> str:
    """Returns the hours and the disk of all runs, as far as they are known."""
    costs = [cost(plan, measured) for plan in plans if (measured := known(plan))]
    if not costs:
        return "hours unknown; dc-nmt paper run … --estimate measures them"
    text = duration(sum(each.seconds for each in costs))
    disks = [each.disk for each in costs if each.disk]
    if len(disks) == len(costs):  # otherwise no checkpoint was measured
        text += f", {bytes_text(sum(disks))} of checkpoints"
    unknown = len(plans) - len(costs)
    return text + (f"; {unknown} unknown" if unknown else "")


def _systems(plans: Sequence[TrainPlan]) -> list[TrainPlan]:
    """Returns the first run of each system."""
    first: dict[Path, TrainPlan] = {}
    for plan in plans:
        first.setdefault(path_of(plan), plan)
    return list(first.values())


def _system(plan: TrainPlan) -> str:
    """Returns the name of a run without its seed."""
    return re.sub(r"-s\d+$", "", plan.run.folder.name)


def _has_text(plan: TrainPlan) -> bool:
    return (plan.run.text.binarised / ".stamp").is_file()


def duration(seconds: float) -> str:
    """Returns a time as a person says it."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def bytes_text(count: float) -> str:
    """Returns a number of bytes as a person says it."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.0f} MB"


# -- measuring ---------------------------------------------------------------------------------


def measure(plans: Sequence[TrainPlan], progress: Progress) -> None:
    """Measures each system whose text is prepared, and stores the measurements.

    Raises:
        UserError: a training fails
    """
    for plan in _systems(plans):
        if _has_text(plan):
            progress.say(f"{_system(plan)}: measuring, half a minute or some updates")
            write_json(path_of(plan), asdict(_measured(plan)))


def _measured(plan: TrainPlan) -> Measurement:
    from ...machine import used_device

    folder = plan.run.folder.parent
    folder.mkdir(parents=True, exist_ok=True)
    words = plan.command
    with TemporaryDirectory(prefix=".estimate-", dir=folder) as temporary:
        every = min(SAVED, plan.settings.updates)
        words = [*words, "--log-interval", "1", "--save-interval-updates", str(every)]
        words += ["--save-dir", f"{temporary}/checkpoints"]
        watch = _Watch(Path(temporary, "checkpoints"))
        with running(words, stdout=PIPE, stderr=STDOUT) as process:
            assert process.stdout is not None
            ended = watch.follow(process.stdout, process.pid)
            if not ended:
                process.terminate()
            code = process.wait()
        if ended and code:
            raise UserError("--estimate: fairseq-train stopped early:\n" + "".join(watch.tail))
        if not watch.updates:
            raise UserError(f"--estimate: has no update to time; the first {SLOW} are left out")
    return Measurement(
        used_device(recorded_flags(words)) or "an unknown device",
        time.strftime("%Y-%m-%d"),
        len(watch.updates),
        sum(watch.updates) / len(watch.updates),
        watch.updates_per_epoch,
        watch.validation,
        watch.saving,
        watch.checkpoint,
        watch.memory,
    )


class _Watch:
    """Reads the time of updates, validation and saving from the output of fairseq-train.

    An update is timed from the line of the update before; where something else came between them,
    it is not.
    """

    def __init__(self, checkpoints: Path) -> None:
        self._checkpoints = checkpoints
        self.updates: list[float] = []  # seconds of each
        self.updates_per_epoch = 0.0
        self.validation: float | None = None
        self.saving: float | None = None
        self.checkpoint: int | None = None
        self.memory: int | None = None
        self.tail: deque[str] = deque(maxlen=20)  # lines of the output
        self._began = 0.0  # of the first timed update
        self._before: float | None = None  # time of the update before
        self._began_validation = 0.0
        self._gpu = 0.0  # GB of memory

    def follow(self, output: IO[bytes], process: int) -> bool:
        """Returns True if the program came to its end before all was measured."""
        from ..evaluation.logs import parse_statistics

        for raw in output:
            now = time.monotonic()
            line = raw.decode("utf-8", "replace")
            self.tail.append(line)
            kind, values = parse_statistics(line.rstrip("\n")) or ("", {})
            if kind == "train_inner":
                self._update(now, values)
                self.memory = max(self.memory or 0, self._memory(values, process)) or None
            elif kind == "valid":
                self.validation = now - self._began_validation
            else:
                self._other(now, line)
            if self._is_enough(now):
                return False
        return True

    def _update(self, now: float, values: dict[str, str]) -> None:
        number = int(values["num_updates"])
        if number == SLOW:
            self._began = now
        if number > SLOW and self._before is not None:
            self.updates.append(now - self._before)
        self._before = now
        self.updates_per_epoch = number / float(values["update"])

    def _other(self, now: float, line: str) -> None:
        self._before = None
        if "begin validation on" in line:
            self._began_validation = now
        elif "total memory =" in line:
            self._gpu = float(line.partition("total memory =")[2].split()[0])
        saved = re.search(r"writing took ([\d.]+) seconds", line)
        if saved:
            self.saving = float(saved[1])
            self.checkpoint = max(
                (path.stat().st_size for path in self._checkpoints.glob("*.pt")), default=None
            )

    def _memory(self, values: dict[str, str], process: int) -> int:
        """Returns the most bytes of the GPU, or of the process; 0: unknown."""
        if "gb_free" in values:
            return int((self._gpu - float(values["gb_free"])) * 2**30)
        status = Path(f"/proc/{process}/status")
        if not status.is_file():
            return 0
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        return int(found[1]) * 1024 if found else 0

    def _is_enough(self, now: float) -> bool:
        passed = now - self._began
        if len(self.updates) < TIMED or passed < SECONDS:
            return False
        return self.saving is not None or passed > PATIENCE
