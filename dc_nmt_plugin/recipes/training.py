"""Trains one model; fairseq-train writes the record of its run (tasks/run_record.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from subprocess import PIPE, STDOUT

from ..errors import UserError
from ..steps import Command, Step, check_space, digest, read_stamp, running, write_stamp
from .experiment import PLUGIN, Experiment

COMMAND = "command.txt"  # in a run's folder, for people: its fairseq-train command
LOG = "train.log"


@dataclass(frozen=True)
class TrainingStep(Step):
    """Training step: fills the folder of a run in place, and continues from checkpoints.

    ``settings.stamp`` says what a folder trains, and ``training.stamp`` that it is finished.
    """

    run: Experiment = field(kw_only=True)  # the trained run
    command: Sequence[str] = field(kw_only=True)  # the whole command
    updates: int = field(kw_only=True)  # number of training updates

    def check_flags(self) -> None:
        """
        Raises:
            UsageError: fairseq-train does not take these flags
        """
        from .. import registration  # noqa: F401
        from ..compat.fairseq_flags import TRAIN, parse_flags

        words = list(self.command)
        parse_flags(TRAIN, words[words.index(str(self.run.binarised)) :])

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
        known = read_stamp(folder / "settings.stamp")
        # without checkpoints nothing can be lost; a finished run may have no checkpoints left
        begun = self.run.is_trained() or any(self.run.checkpoints.glob("checkpoint*.pt"))
        if begun and known not in (None, stamp):
            raise UserError(
                f"{folder} has a run with other data or settings (see its command.txt): "
                "use another folder, or remove that one"
            )
        folder.mkdir(parents=True, exist_ok=True)
        (folder / COMMAND).write_text(f"{Command(self.command[:-2])}\n", "utf-8")
        write_stamp(folder / "settings.stamp", stamp)
        if not (self.run.checkpoints / "checkpoint_last.pt").is_file():
            (folder / LOG).unlink(missing_ok=True)
        if not self._train():
            raise UserError(
                f"training of {self.run.arch} stopped; its log is {folder / LOG}; "
                "the same command continues it"
            )
        write_stamp(folder / "training.stamp", stamp)

    def _train(self) -> bool:
        """Trains with the output in the log; returns True on success."""
        from ..evaluation.progress_line import ProgressLine

        line = ProgressLine(self.run.arch, self.updates)
        with (
            open(self.run.folder / LOG, "ab") as out,
            running(self.command, stdout=PIPE, stderr=STDOUT) as process,
        ):
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
) -> TrainingStep:
    """Returns the training step of a run.

    Args:
        run: the trained run
        updates, save_every: number of training updates, and between two checkpoints
        identity: flags that identify the run on any machine
        flags: of fairseq-train
    """
    fixed = ["--arch", run.arch, "--task", run.task, "--criterion", run.criterion]
    fixed += ["--source-lang", run.source, "--target-lang", run.target]
    fixed += ["--max-update", str(updates), "--save-interval-updates", str(save_every)]
    fixed += ["--keep-interval-updates", str(max(run.average, 1)), "--no-epoch-checkpoints"]
    fixed += ["--log-format", "json", "--log-interval", "1" if updates < 100 else "10"]
    command = ["fairseq-train", str(run.binarised), "--user-dir", PLUGIN, *fixed, *flags]
    command += ["--save-dir", str(run.checkpoints)]
    return TrainingStep(
        f"{run.arch}: train {updates} updates",
        run.folder,
        lambda: digest([read_stamp(run.binarised / ".stamp"), *fixed, *identity]),
        lambda _: [Command(command, log=run.folder / LOG)],
        run=run,
        command=command,
        updates=updates,
    )
