"""One training run: its folder, and the step that runs fairseq-train in it.

fairseq-train writes the record of the run (tasks/run_record.py).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, STDOUT

from ..errors import UserError
from ..files import check_space
from ..flags import flag_values
from ..steps import Command, ShellWord, Step, read_stamp, running, stamp_of, write_stamp

PLUGIN = ShellWord(Path(__file__).parents[1], '"$USER_DIR"')
COMMAND = "command.txt"  # in a run's folder, for people: its fairseq-train command
LOG = "train.log"


@dataclass(frozen=True)
class Experiment:
    """One model in its own folder, and one way to translate with it."""

    arch: str  # fairseq's
    task: str
    criterion: str
    source: str  # languages
    target: str
    raw: Path  # folder of the untokenised text
    binarised: Path  # folder that fairseq reads
    folder: Path  # of the run
    average: int  # number of averaged last checkpoints; 0: only the best one
    decode: tuple[str, ...]  # flags of fairseq-generate
    score: tuple[str, ...]  # flags of dc-nmt score
    decoding: str = ""  # name of this decoding, such as aux1, if the run is decoded in several ways
    split: str = "test"  # translated set: test, valid or a further test set
    subset: str = "test"  # fairseq's name of the set
    averaged: str = "average"  # folder of their mean, in the run's folder

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def record(self) -> Path:
        return self.folder / "run.json"

    @property
    def key(self) -> str:
        """Returns the translated set and the decoding; "" for the recipe's of the test set."""
        subset = "" if self.split == "test" else self.split
        return ".".join(filter(None, (subset, self.decoding)))

    @property
    def suffix(self) -> str:
        """Returns the end of the names of this decoding's files."""
        return f"-{self.key}" if self.key else ""

    @property
    def score_log(self) -> Path:
        return self.folder / f"score{self.suffix}.log"

    def is_trained(self) -> bool:
        """Returns True if the training in this folder is finished."""
        stamp = read_stamp(self.folder / "training.stamp")
        return stamp is not None and stamp == read_stamp(self.folder / "settings.stamp")


@dataclass(frozen=True)
class TrainingStep(Step):
    """Runs fairseq-train in the folder of a run, and continues from its checkpoints.

    At the start the run's stamp is written to ``settings.stamp``, at the end to ``training.stamp``.
    """

    run: Experiment = field(kw_only=True)  # the trained run
    command: Sequence[str] = field(kw_only=True)  # the whole command
    updates: int = field(kw_only=True)  # number of training updates

    def check_flags(self, dry_run: bool) -> None:
        """Raises UserError for flags that fairseq-train, or this machine, does not take."""
        from .. import registration  # noqa: F401
        from ..compat.mixed_precision import bfloat16_flag
        from ..models.fairseq_flags import TRAIN, parse_flags

        args = parse_flags(TRAIN, self.command[1:])
        if not dry_run:  # a script may train on another machine
            bfloat16_flag(args)

    def is_done(self) -> bool:
        return read_stamp(self.run.folder / "training.stamp") == self.stamp()

    def make(self) -> None:
        """Trains, or continues training.

        Raises:
            UserError: the folder has another training run, or the run stopped early
        """
        folder, stamp = self.run.folder, self.stamp()
        # without checkpoints nothing can be lost; a finished run may have no checkpoints left
        begun = self.run.is_trained() or any(self.run.checkpoints.glob("checkpoint*.pt"))
        if begun and read_stamp(folder / "settings.stamp") not in (None, stamp):
            raise UserError(
                f"{folder} has a run with other data or settings (see its command.txt): "
                "give another --name, or remove that folder"
            )
        folder.mkdir(parents=True, exist_ok=True)
        without_save_dir = Command(self.command[:-2])
        (folder / COMMAND).write_text(f"{without_save_dir}\n", "utf-8")
        write_stamp(folder / "settings.stamp", stamp)
        if not begun:
            (folder / LOG).unlink(missing_ok=True)
        self._run_fairseq_train()
        write_stamp(folder / "training.stamp", stamp)

    def _run_fairseq_train(self) -> None:
        from ..evaluation.logs import follow_training

        log = self.run.folder / LOG
        with (
            open(log, "ab") as out,
            running(self.command, stdout=PIPE, stderr=STDOUT) as process,
        ):
            assert process.stdout is not None
            tail = follow_training(process.stdout, out, self.run.arch, self.updates)
            code = process.wait()
        if code:
            check_space(self.run.folder, "".join(tail))
            print("\nTraining stopped early. The last lines of its log:", file=sys.stderr)
            sys.stderr.writelines(tail)
            raise UserError(
                f"training of {self.run.arch} stopped; its log is {log}; "
                "the same command continues it"
            )


def training_step(
    run: Experiment,
    updates: int,
    save_every: int,
    identity: Sequence[str],
    flags: Sequence[str],
) -> TrainingStep:
    """Returns the training step of a run.

    Args:
        updates, save_every: number of training updates, and between two checkpoints
        identity: flags that identify the run on any machine
        flags: of fairseq-train on this machine
    """
    fixed = ["--arch", run.arch, "--task", run.task, "--criterion", run.criterion]
    fixed += ["--source-lang", run.source, "--target-lang", run.target]
    fixed += ["--max-update", str(updates), "--save-interval-updates", str(save_every)]
    fixed += ["--keep-interval-updates", str(max(run.average, 1)), "--no-epoch-checkpoints"]
    fixed += ["--log-format", "json", "--log-interval", "1" if updates < 100 else "10"]
    command = ["fairseq-train", str(run.binarised), "--user-dir", PLUGIN, *fixed, *flags]
    command += ["--save-dir", str(run.checkpoints)]

    def stamp() -> str:
        text = read_stamp(run.binarised / ".stamp")
        # earlier versions stamped the flags in the order of the command line, tokens without dashes
        words = [word.replace("--tokens=", "tokens=") for word in identity]
        before = stamp_of([text, *fixed, *words])
        if read_stamp(run.folder / "settings.stamp") == before:
            return before
        return stamp_of([text, *sorted(flag_values([*fixed, *identity]).items())])

    return TrainingStep(
        name=f"{run.arch}: train {updates} updates",
        folder=run.folder,
        stamp=stamp,
        commands=lambda _: [Command(command, log=run.folder / LOG)],  # of a script
        run=run,
        command=command,
        updates=updates,
    )
