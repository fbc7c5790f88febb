"""One run of a task: what is asked for, and its text, folder, batch and decoding."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, counted
from ...files import load_json
from ...flags import USER_DIR_VARIABLE, flag_name

if TYPE_CHECKING:
    from ..inference.trained_run import TrainedRun

PLUGIN = str(Path(__file__).parents[2])  # value of --user-dir
LENGTHS = "lengths.json"  # beside the text after BPE: SPLIT.LANG → tokens of the longest sentence


# -- what is asked for -------------------------------------------------------------------------


@dataclass(frozen=True)
class Experiment:
    """Options of training and evaluation."""

    task: str  # names
    arch: str
    size: str | None = None  # of the architecture; default the paper's
    seed: int = 1  # of the training run
    name: str | None = None  # folder of the run; default of its architecture, size and seed
    out: Path | None = None  # as the text was prepared
    sample: int | None = None
    average: int | None = None  # number of averaged checkpoints; default the recipe's
    # name of this decoding, if the run is decoded in several ways
    decoding: str = field(default="", metadata={"flag": "--as"})
    # entry of papers.yaml whose settings are used; default the recipe's choice
    like: str | None = None
    subset: str = "test"  # translated set: test, valid or a further test set
    ensemble: tuple[Path, ...] = ()  # further runs, whose models translate together with this one


@dataclass(frozen=True)
class TrainOptions:
    """Options of training only."""

    flags: tuple[str, ...] = ()  # of fairseq-train, after the recipe's own
    max_update: int | None = None  # another number of updates
    max_tokens: int | None = None  # of one GPU at a time
    # batches whose gradients are summed; default: keeps the tokens per update
    update_freq: int | None = None
    gpus: int | None = None  # of this machine; 0: the CPU; None: all
    fp32: bool = False  # no bfloat16 on a CPU that multiplies it fast


def option_words(options: Any, without: Collection[str] = ()) -> Iterator[str]:
    """Yields the options of a dataclass that are not the defaults, as words of a command line."""
    for option in fields(options):
        value = getattr(options, option.name)
        if option.name in without or value in (None, option.default):
            continue
        yield option.metadata.get("flag") or flag_name(option.name)
        if value is not True:
            yield ",".join(value) if isinstance(value, tuple) else str(value)


def user_dir_words() -> list[str]:
    """Returns ``--user-dir`` with the user's folders of mechanisms, for another process."""
    folders = os.environ.get(USER_DIR_VARIABLE)
    return ["--user-dir", folders] if folders else []


def words_of_run(experiment: Experiment, without: Collection[str] = ()) -> list[str]:
    """Returns the words that name a run, for ``dc-nmt train`` and ``evaluate``."""
    words = [experiment.task, experiment.arch, *user_dir_words()]
    words += option_words(experiment, {"task", "arch", "seed", "ensemble", *without})
    return [*words, "--seed", str(experiment.seed)]


def flag_words(flags: Sequence[str]) -> list[str]:
    """Returns fairseq's flags as the last words of a command of dc-nmt."""
    return ["--", *flags] if flags else []


# -- what is planned ---------------------------------------------------------------------------


@dataclass(frozen=True)
class PreparedText:
    """The text that ``dc-nmt prepare`` makes for a run, in one direction."""

    source: str  # languages
    target: str
    data: Path  # folder
    segmentation: str  # end of the names of its folders; "" for the default

    @property
    def raw(self) -> Path:
        """Returns the folder of the untokenised text."""
        return self.data / "raw"

    @property
    def pieces(self) -> Path:
        """Returns the folder of the text after BPE."""
        return self.data / f"bpe{self.segmentation}"

    @property
    def binarised(self) -> Path:
        """Returns the folder that fairseq reads."""
        return self.data / f"bin{self.segmentation}"


@dataclass(frozen=True)
class PlannedRun:
    """A training run in its own folder."""

    arch: str  # value of --arch
    fairseq_task: str  # value of --task
    criterion: str
    text: PreparedText
    folder: Path

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def names(self) -> dict[str, Path]:
        """Returns the names of the folders in a script."""
        return {"DATA": self.text.data, "RUN": self.folder}


@dataclass(frozen=True)
class PlannedDecoding:
    """One way to translate a set with the model of a run, and to score the translation."""

    run: PlannedRun
    name: str  # such as aux1, if the run is decoded in several ways; "" for the recipe's
    split: str  # translated set: test, valid or a further test set
    subset: str  # fairseq's name of the set
    average: int  # number of averaged last checkpoints; 0: only the best one
    mean: Path  # folder of their mean
    search: tuple[str, ...]  # flags of fairseq-generate
    score: tuple[str, ...]  # flags of dc-nmt score
    ensemble: tuple[TrainedRun, ...] = ()  # whose models translate together with that of the run

    @property
    def checkpoint(self) -> Path:
        """Returns the model that translates: the mean of the last checkpoints, or the best one."""
        return self.mean / "checkpoint.pt"

    @property
    def models(self) -> list[Path]:
        """Returns the checkpoints of all models that translate."""
        return [self.checkpoint, *(run.checkpoint for run in self.ensemble)]

    @property
    def key(self) -> str:
        """Returns the translated set and the decoding; "" for the recipe's of the test set."""
        subset = "" if self.split == "test" else self.split
        return ".".join(filter(None, (subset, self.name)))

    @property
    def suffix(self) -> str:
        """Returns the end of the names of this decoding's files."""
        return f"-{self.key}" if self.key else ""

    @property
    def output(self) -> Path:
        """Returns the folder of fairseq-generate's output."""
        return self.run.folder / f"generate{self.suffix}"

    def raw_text(self, language: str) -> Path:
        """Returns the untokenised text of the set."""
        return self.run.text.raw / f"{self.split}.{language}"


# -- the batch ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class UpdateTokens:
    """Distribution of an update's tokens over processes."""

    processes: int
    max_tokens: int  # of one process at a time
    update_freq: int  # number of batches whose gradients each process sums
    of_recipe: int  # tokens of an update in the recipe

    @property
    def tokens(self) -> int:
        """Returns the tokens of one update."""
        return self.processes * self.max_tokens * self.update_freq

    def __str__(self) -> str:
        text = (
            f"{self.tokens:,} tokens per update = {self.processes} x {self.max_tokens:,} "
            f"(--max-tokens) x {self.update_freq} (--update-freq)"
        )
        if abs(self.tokens - self.of_recipe) > 0.01 * self.of_recipe:
            return f"{text}; not the recipe's {self.of_recipe:,}"
        return text

    def check(self, longest: int) -> None:
        """Raises UsageError if a process would get fewer tokens than the longest sentence has."""
        if self.max_tokens < max(1, longest):
            raise UsageError(
                f"--gpus, --max-tokens: a process would get {counted(self.max_tokens, 'token')} at "
                f"a time, and the longest sentence has {longest}: use fewer GPUs, or a greater "
                "--max-tokens"
            )


def share_out(tokens: int, processes: int, max_tokens: int) -> UpdateTokens:
    """Distributes an update's `tokens`, at most `max_tokens` a process at a time."""
    update_freq = -(-tokens // (processes * max_tokens))
    return UpdateTokens(processes, round(tokens / (processes * update_freq)), update_freq, tokens)


def longest_sentence(folder: Path, split: str) -> int:
    """Returns the tokens of a split's longest sentence with its end; 0 before it is prepared."""
    if not (folder / LENGTHS).is_file():
        return 0
    lengths = load_json(folder / LENGTHS)
    return max((n + 1 for name, n in lengths.items() if name.startswith(split)), default=0)
