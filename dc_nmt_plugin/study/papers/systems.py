"""Finds the training run and the translation that give a published number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...flags import as_flags
from ...laboratory.recipes.planned import Experiment, PlannedDecoding
from ...laboratory.recipes.recipe import load
from ...laboratory.recipes.scoring import plan_decoding
from ...laboratory.recipes.settings import TaskSettings, settings_of
from ...laboratory.typed_yaml import read_yaml
from .document import Entry

MODELS = Path(__file__).with_name("models.yaml")


@dataclass(frozen=True)
class NeededTraining:
    """A training run that entries need."""

    task: str  # name of the recipe, in the direction
    arch: str  # value of --arch
    like: str | None  # entry of papers.yaml, where it is not the recipe's own choice
    flags: tuple[str, ...]  # of the model, on top

    def __str__(self) -> str:
        """Returns the words that choose the run, which are its key in models.yaml."""
        like = ["--like", self.like] if self.like else []
        return " ".join([self.task, self.arch, *like, *self.flags])

    @property
    def settings(self) -> TaskSettings:
        """Returns the settings of the recipe."""
        return settings_of(load(self.task), self.arch, like=self.like)

    def name(self, seed: int) -> str | None:
        """Returns the name of the run's folder; None for the recipe's name."""
        if not self.flags:
            return None
        words = [word.removeprefix("--").replace(",", "_") for word in self.flags]
        like = [self.like] if self.like else []
        return "-".join([self.arch, *like, *words, f"s{seed}"]).replace(" ", "_")


@dataclass(frozen=True)
class NeededTranslation:
    """One way to translate with a trained model."""

    training: NeededTraining  # which model
    subset: str = "test"  # test, valid or a further test set
    flags: tuple[str, ...] = ()  # of fairseq-generate, on top of the recipe's

    @property
    def name(self) -> str:
        """Returns the value of ``--as``: ``aux1``, ``mask2``; "" for the recipe's decoding."""
        short = {"--decode-with": "", "--mask-source-layers": "mask", "--no-aux-fusion": "nofusion"}
        text = "".join(short.get(word, word) for word in self.flags)
        return "".join(character for character in text if character.isalnum())

    def experiment(self, seed: int) -> Experiment:
        """Returns which run translates which set."""
        training = self.training
        return Experiment(
            training.task,
            training.arch,
            seed=seed,
            name=training.name(seed),
            like=training.like,
            subset=self.subset,
            decoding=self.name,
        )

    def decoding(self, seed: int) -> PlannedDecoding:
        """Returns the decoding of the run with a seed."""
        return plan_decoding(self.experiment(seed))


def training_of(entry: Entry) -> NeededTraining:
    """Returns the training run that gives an entry's number.

    Raises:
        UserError: the task has no recipe
    """
    default = settings_of(load(entry.task), entry.arch).like
    like = None if entry.training in ("", default) else entry.training
    return NeededTraining(entry.task, entry.arch, like, tuple(as_flags(entry.flags)))


def translation_of(entry: Entry) -> NeededTranslation:
    """Returns the translation that gives an entry's number."""
    flags = [] if entry.part == "main" else ["--decode-with", entry.part]
    flags += as_flags(entry.decoding)
    return NeededTranslation(training_of(entry), entry.subset or "test", tuple(flags))


def has_run(entry: Entry) -> bool:
    """Returns True if a recipe trains the system of an entry."""
    return entry.is_of_a_run and bool(entry.training)


def size_of(runs: Sequence[NeededTraining], max_update: int | None = None) -> str:
    """Returns the size of training runs: updates, tokens with padding, largest model."""
    known = counted_parameters()
    updates = tokens = 0
    for training in runs:
        of_run = max_update or training.settings.updates
        updates += of_run
        tokens += of_run * training.settings.tokens
    largest = short(max(known[str(training)] for training in runs))
    count = "1 training run" if len(runs) == 1 else f"{len(runs)} training runs"
    size = largest if len(runs) == 1 else f"up to {largest}"
    return f"{count}, {short(updates)} updates, {short(tokens)} tokens, {size} parameters"


@cache
def counted_parameters() -> dict[str, int]:
    """Returns training run → parameters of its model."""
    return read_yaml(MODELS, dict[str, int])


def short(number: float) -> str:
    """Returns a number with three digits, such as 13.1G."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            value = number / size
            return f"{value:.{max(0, 3 - len(str(int(value))))}f}{unit}"
    return str(round(number))
