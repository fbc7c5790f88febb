"""Finds the run that gives the number of a published entry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..flags import as_flags
from ..papers.described_run import DescribedRun, flags_of
from ..papers.effective_settings import model_settings, needed_flags
from ..papers.matching import Difference, differences
from ..papers.schema import Entry
from ..recipes.experiment import Experiment
from ..recipes.launch import MachineOptions
from ..recipes.options import RunOptions, TrainOptions
from ..recipes.recipe import load, tasks
from ..recipes.run_plan import plan_run, plan_training
from ..recipes.settings import settings_of

ON_CPU = MachineOptions(launcher="fairseq", gpus=0)


@dataclass(frozen=True)
class NeededTraining:
    """A training run that entries need.

    Attributes:
        task: name of the recipe, in the direction
        arch: value of ``--arch``
        like: entry of ``papers.yaml``, where it is not the recipe's own choice
        flags: of the model, on top
    """

    task: str
    arch: str
    like: str | None
    flags: tuple[str, ...]

    def __str__(self) -> str:
        """Returns the words that choose the run."""
        like = ["--like", self.like] if self.like else []
        return " ".join([self.task, self.arch, *like, *self.flags])

    @property
    def name(self) -> str:
        """Returns the name of the run's folder, without the seed; "" for the recipe's name."""
        if not self.flags:
            return ""
        words = [word.removeprefix("--").replace(",", "_") for word in self.flags]
        return "-".join([self.arch, *([self.like] if self.like else []), *words]).replace(" ", "_")

    def options(self, seed: int, out: Path | None, sample: int | None, **more: Any) -> RunOptions:
        """Returns the options for ``dc-nmt train`` and ``dc-nmt evaluate``."""
        name = f"{self.name}-s{seed}" if self.name else None
        return RunOptions(
            self.task, self.arch, seed=seed, name=name, like=self.like, out=out, sample=sample,
            **more,
        )  # fmt: skip


@dataclass(frozen=True)
class NeededDecoding:
    """One way to translate with a trained model.

    Attributes:
        training: which one
        subset: ``test``, ``valid`` or a further test set
        flags: of fairseq-generate, on top of the recipe's
    """

    training: NeededTraining
    subset: str = "test"
    flags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Returns the value of ``--as``: ``aux1``, ``mask2``; "" for the recipe's decoding."""
        short = {"--decode-with": "", "--mask-source-layers": "mask", "--no-aux-fusion": "nofusion"}
        text = "".join(short.get(word, word) for word in self.flags)
        return "".join(character for character in text if character.isalnum())

    def run(self, seed: int, out: Path | None, sample: int | None) -> Experiment:
        """Returns the run's folders."""
        options = self.training.options(seed, out, sample, subset=self.subset, decoding=self.name)
        return plan_run(options)


def training_of(entry: Entry) -> NeededTraining:
    """Returns the training run that gives an entry's number.

    Raises:
        UserError: the task has no recipe
    """
    wanted = entry.training.name if entry.training else None
    flags = tuple(entry.system.flags.items())
    return _training(entry.task, entry.direction, entry.system.arch, flags, wanted)


@cache  # most entries share one with others
def _training(
    text: str, direction: str, arch: str, own_flags: tuple[tuple[str, Any], ...], wanted: str | None
) -> NeededTraining:
    task = _recipe_name(text, direction)
    recipe = load(task)
    own = settings_of(recipe, arch)
    like = None if wanted in (None, own.name) else wanted
    settings = settings_of(recipe, arch, like=like)
    given = flags_of(arch, settings.flags)
    flags = {
        name: value
        for name, value in needed_flags(arch, dict(own_flags)).items()
        if given.get(name) != value
    }
    return NeededTraining(task, settings.arch, like, tuple(as_flags(flags)))


def decoding(entry: Entry) -> NeededDecoding:
    """Returns the decoding that gives an entry's score."""
    flags: list[str] = [] if entry.part == "main" else ["--decode-with", entry.part]
    masked = entry.decoding.get("mask_source_layers")
    flags += ["--mask-source-layers", str(masked)] if masked else []
    flags += ["--no-aux-fusion"] if entry.decoding.get("no_aux_fusion") else []
    return NeededDecoding(training_of(entry), entry.subset or "test", tuple(flags))


@cache
def _recipe_name(text: str, direction: str) -> str:
    for name, (path, known) in tasks().items():
        if (path.stem, known) == (text, direction):
            return name
    raise UserError(f"the text of {text} has no recipe")


def has_recipe(entry: Entry) -> bool:
    """Returns True if a recipe prepares an entry's text."""
    return _is_prepared(entry.task, entry.direction)


@cache  # a listing asks thousands of times
def _is_prepared(task: str, direction: str) -> bool:
    return (task, direction) in {(path.stem, known) for path, known in tasks().values()}


def disagreements(entry: Entry) -> list[Difference]:
    """Returns the settings in which the run differs from an entry."""
    run = _described(decoding(entry), entry.task, entry.direction)
    found = differences(replace(run, of=entry.of), entry.measure, entry)
    # an analysis has its own beam
    return [d for d in found if entry.measure != "dependency" or d.name != "decoding.beam"]


@cache
def _described(way: NeededDecoding, task: str, direction: str) -> DescribedRun:
    """Returns the settings of a run, from its commands."""
    options = way.training.options(1, None, None, subset=way.subset, decoding=way.name)
    plan = plan_training(options, TrainOptions(flags=way.training.flags, machines=ON_CPU))
    words = [*plan.training.run.decode, *way.flags]
    return DescribedRun.of_commands(
        task, direction, plan.training.command, words, subset=way.subset
    )


def layers_of(training: NeededTraining) -> tuple[int, int]:
    """Returns the numbers of encoder and decoder layers."""
    settings = model_settings(training.arch, flags_of(training.arch, training.flags))
    return settings.get("encoder_layers", 1), settings.get("decoder_layers", 1)
