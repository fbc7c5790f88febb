"""Training of one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, STDOUT

from ..errors import UserError
from ..evaluation.progress_line import ProgressLine
from ..steps import Command, Step, check_space, digest, read_stamp, running, write_stamp
from .experiment import PLUGIN, Experiment
from .recording import LOG, begin_record, end_record

COMMAND = "command.txt"  # in a run's folder, for people: its fairseq-train command


@dataclass(frozen=True)
class TrainingStep(Step):
    """Training step: fills the folder of a run in place, and continues from checkpoints.

    Attributes:
        run: the trained run
        command: the whole command
        updates: number of training updates
    """

    run: Experiment = field(kw_only=True)
    command: Sequence[str] = field(kw_only=True)
    updates: int = field(kw_only=True)

    def check_flags(self) -> None:
        """
        Raises:
            UsageError: fairseq-train does not take these flags
        """
        from .. import registration  # noqa: F401
        from ..compat.fairseq_flags import TRAIN, check_flags

        words = list(self.command)
        check_flags(TRAIN, words[words.index(str(self.run.binarised)) :])

    def is_done(self) -> bool:
        return read_stamp(self.run.folder / "training.stamp") == self.stamp()

    def announcement(self) -> str:
        if (self.run.checkpoints / "checkpoint_last.pt").is_file():
            return f"{self.name}, from the last checkpoint on"
        return self.name

    def make(self) -> None:
        """Trains, or continues training.

        Raises:
            UserError: the folder has another training run, or the run stopped early
        """
        folder, stamp = self.run.folder, self.stamp()
        # otherwise nothing can be lost; a finished run may have no checkpoints left
        begun = self.run.is_trained() or any(self.run.checkpoints.glob("checkpoint*.pt"))
        if begun and read_stamp(folder / "settings.stamp") not in (None, stamp):
            raise UserError(
                f"{folder} has a run with other data or settings (see its command.txt): "
                "use another folder, or remove that one"
            )
        continued = read_stamp(folder / "settings.stamp") == stamp
        begin_record(self.run, self.command, continued)
        (folder / COMMAND).write_text(f"{Command(self.command[:-2])}\n", "utf-8")
        write_stamp(folder / "settings.stamp", stamp)
        log = folder / LOG
        if not (self.run.checkpoints / "checkpoint_last.pt").is_file():
            log.unlink(missing_ok=True)
        trained = self._train(log)
        end_record(self.run)
        if not trained:
            raise UserError(
                f"training of {self.run.arch} stopped; its log is {log}; "
                "the same command continues it"
            )
        write_stamp(folder / "training.stamp", stamp)

    def _train(self, log: Path) -> bool:
        """Trains with the output in the log; returns True on success."""
        line = ProgressLine(self.run.arch, self.updates)
        with open(log, "ab") as out, running(self.command, stdout=PIPE, stderr=STDOUT) as process:
            assert process.stdout is not None
            tail = line.follow(process.stdout, out)
            code = process.wait()
        if code:
            check_space(self.run.folder, "".join(tail), code)
            line.last_words(tail)
        return not code


def training_step(
    run: Experiment,
    updates: int,
    save_every: int,
    identity: Sequence[str],
    flags: Sequence[str],
    launcher: Sequence[str],
) -> TrainingStep:
    """Returns the training step of a run.

    Args:
        run: the trained run
        updates, save_every: number of training updates, and between two checkpoints
        identity: flags that identify the run on any machine
        flags: of fairseq-train
        launcher: words before the folder of data
    """
    fixed = ["--arch", run.arch, "--task", run.task, "--criterion", run.criterion]
    fixed += ["--source-lang", run.source, "--target-lang", run.target]
    fixed += ["--max-update", str(updates), "--save-interval-updates", str(save_every)]
    fixed += ["--keep-interval-updates", str(max(run.average, 1)), "--no-epoch-checkpoints"]
    fixed += ["--log-format", "json", "--log-interval", "1" if updates < 100 else "10"]
    command = [*launcher, str(run.binarised), "--user-dir", str(PLUGIN), *fixed, *flags]
    command += ["--save-dir", str(run.checkpoints)]
    return TrainingStep(
        f"{run.arch}: train {updates} updates",
        run.folder,
        lambda: digest([read_stamp(run.binarised / ".stamp"), *fixed, *identity]),
        lambda _: [Command(command)],
        run=run,
        command=command,
        updates=updates,
    )
