"""One training run: its folder, its batches, and the step that runs fairseq-train in it.

fairseq-train writes the record of the run (tasks/run_record.py).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, STDOUT

from ..errors import UsageError, UserError, counted
from ..files import check_space, load_json
from ..flags import flag_values
from ..steps import Command, ShellWord, Step, read_stamp, running, stamp_of, write_stamp

PLUGIN = ShellWord(Path(__file__).parents[1], '"$USER_DIR"')
COMMAND = "command.txt"  # in a run's folder, for people: its fairseq-train command
LOG = "train.log"
LENGTHS = "lengths.json"  # beside the text after BPE: SPLIT.LANG → tokens of the longest sentence


@dataclass(frozen=True)
class PlannedRun:
    """A training run in its own folder, and one way to translate with its model."""

    arch: str  # fairseq's
    task: str
    criterion: str
    source: str  # languages
    target: str
    raw: Path  # folder of the untokenised text
    pieces: Path  # folder of the text after BPE
    binarised: Path  # folder that fairseq reads
    folder: Path  # of the run
    average: int  # number of averaged last checkpoints; 0: only the best one
    decode: tuple[str, ...]  # flags of fairseq-generate
    score: tuple[str, ...]  # flags of dc-nmt score
    decoding: str = ""  # name of this decoding, such as aux1, if the run is decoded in several ways
    split: str = "test"  # translated set: test, valid or a further test set
    subset: str = "test"  # fairseq's name of the set
    mean: str = "average"  # name of the folder of their mean, in the run's folder

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def checkpoint(self) -> Path:
        """Returns the model that translates: the mean of the last checkpoints, or the best one."""
        return self.folder / self.mean / "checkpoint.pt"

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
class Batch:
    """Distribution of an update's tokens over processes."""

    processes: int
    max_tokens: int  # of one process at a time
    update_freq: int  # number of batches whose gradients each process sums
    recipe_tokens: int  # of an update

    @property
    def tokens(self) -> int:
        """Returns the tokens of one update."""
        return self.processes * self.max_tokens * self.update_freq

    def __str__(self) -> str:
        text = (
            f"{self.tokens:,} tokens per update = {self.processes} x {self.max_tokens:,} "
            f"(--max-tokens) x {self.update_freq} (--update-freq)"
        )
        if abs(self.tokens - self.recipe_tokens) > 0.01 * self.recipe_tokens:
            return f"{text}; not the recipe's {self.recipe_tokens:,}"
        return text

    def check(self, longest: int) -> None:
        """Raises UsageError if a process would get fewer tokens than the longest sentence has."""
        if self.max_tokens < max(1, longest):
            raise UsageError(
                f"--gpus, --max-tokens: a process would get {counted(self.max_tokens, 'token')} at "
                f"a time, and the longest sentence has {longest}: use fewer GPUs, or a greater "
                "--max-tokens"
            )


def share_out(tokens: int, processes: int, max_tokens: int) -> Batch:
    """Distributes an update's `tokens`, at most `max_tokens` a process at a time."""
    update_freq = -(-tokens // (processes * max_tokens))
    return Batch(processes, round(tokens / (processes * update_freq)), update_freq, tokens)


def longest_sentence(folder: Path, split: str) -> int:
    """Returns the tokens of a split's longest sentence with its end; 0 before it is prepared."""
    if not (folder / LENGTHS).is_file():
        return 0
    lengths = load_json(folder / LENGTHS)
    return max((n + 1 for name, n in lengths.items() if name.startswith(split)), default=0)


@dataclass(frozen=True)
class TrainingStep(Step):
    """Runs fairseq-train in the folder of a run, and continues from its checkpoints.

    At the start the run's stamp is written to ``settings.stamp``, at the end to ``training.stamp``.
    """

    run: PlannedRun = field(kw_only=True)  # the trained run
    updates: int = field(kw_only=True)  # number of training updates
    batch: Batch = field(kw_only=True)  # on this machine

    @property
    def command(self) -> Sequence[str]:
        (command,) = self.commands(self.folder)
        return command.words

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
        from ..evaluation.logs import follow_training

        folder, stamp = self.run.folder, self.stamp()
        self.batch.check(longest_sentence(self.run.pieces, "train"))
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
        log = folder / LOG
        with (
            open(log, "ab" if begun else "wb") as out,
            running(self.command, stdout=PIPE, stderr=STDOUT) as process,
        ):
            assert process.stdout is not None
            tail = follow_training(process.stdout, out, self.run.arch, self.updates)
            code = process.wait()
        if code:
            check_space(folder, "".join(tail))
            print("\nTraining stopped early. The last lines of its log:", file=sys.stderr)
            sys.stderr.writelines(tail)
            raise UserError(
                f"training of {self.run.arch} stopped; its log is {log}; "
                "the same command continues it"
            )
        write_stamp(folder / "training.stamp", stamp)


def training_step(
    run: PlannedRun,
    updates: int,
    save_every: int,  # updates between two checkpoints
    identity: Sequence[str],  # flags that identify the run on any machine
    flags: Sequence[str],  # of fairseq-train on this machine
    batch: Batch,  # on this machine
) -> TrainingStep:
    """Returns the training step of a run."""
    fixed = ["--arch", run.arch, "--task", run.task, "--criterion", run.criterion]
    fixed += ["--source-lang", run.source, "--target-lang", run.target]
    fixed += ["--max-update", str(updates), "--save-interval-updates", str(save_every)]
    fixed += ["--keep-interval-updates", str(max(run.average, 1)), "--no-epoch-checkpoints"]
    fixed += ["--log-format", "json", "--log-interval", "1" if updates < 100 else "10"]

    def stamp() -> str:
        text = read_stamp(run.binarised / ".stamp")
        # earlier versions stamped the flags in the order of the command line, tokens without dashes
        words = [word.replace("--tokens=", "tokens=") for word in identity]
        before = stamp_of([text, *fixed, *words])
        if read_stamp(run.folder / "settings.stamp") == before:
            return before
        return stamp_of([text, *sorted(flag_values([*fixed, *identity]).items())])

    def commands(_: Path) -> list[Command]:
        words = ["fairseq-train", str(run.binarised), "--user-dir", PLUGIN, *fixed, *flags]
        # dc-nmt run plans a training before it prepares the text, so the length is known here
        longest = longest_sentence(run.pieces, "valid")
        if longest > batch.max_tokens:
            words += ["--max-tokens-valid", str(longest)]
        return [Command([*words, "--save-dir", str(run.checkpoints)], log=run.folder / LOG)]

    name = f"{run.arch}: train {counted(updates, 'update')}"
    return TrainingStep(name, run.folder, stamp, commands, run=run, updates=updates, batch=batch)
