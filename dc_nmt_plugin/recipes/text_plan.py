"""Plans the steps that prepare the text of a task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ..errors import check_choices
from ..machine import usable_cpus
from ..steps import Command, Step, digest
from .options import TextOptions
from .preparation import Preparation
from .recipe import Recipe, load
from .settings import settings_of
from .sources import Sources
from .text import make_text, optional_parts, say_disk

SAMPLE_OPERATIONS = 2000  # of BPE at most


@dataclass(frozen=True)
class TextPlan:
    """Holds the plan of a task's text: the step that makes it, and its preparation."""

    recipe: Recipe
    text: Step
    preparation: Preparation

    def steps(self) -> Iterator[Step]:
        yield self.text
        yield from self.preparation.steps()


def plan_text(options: TextOptions) -> TextPlan:
    """Plans the steps of ``dc-nmt prepare``.

    Raises:
        UserError: an unknown task or architecture
    """
    recipe = load(options.task)
    work = recipe.place(recipe.folder, options.out, options.sample) / "data"
    wanted = {settings_of(recipe, arch).bpe for arch in options.archs}
    wanted = wanted | set(options.bpe) or set(recipe.task.bpe)
    check_choices("--bpe", options.bpe, recipe.task.bpe)
    segmentations = [
        segmentation for name, segmentation in recipe.task.bpe.items() if name in wanted
    ]
    if options.sample:
        segmentations = [
            replace(segmentation, operations=min(segmentation.operations, SAMPLE_OPERATIONS))
            for segmentation in segmentations
        ]
    text = Step(
        f"text of {recipe.folder}",
        work / "raw",
        lambda: _stamp(recipe, options, work / "corpora"),
        lambda to: [_text_command(recipe, options, work / "corpora", to)],
    )
    preparation = Preparation(
        recipe.pair,
        work,
        raw=work / "raw",
        tokenizer=recipe.task.text.stamp,
        tokenised=work / "raw/tokenised",
        segmentations=tuple(segmentations),
        cleaned=True,
        workers=usable_cpus(),
        splits=recipe.splits,
    )
    return TextPlan(recipe, text, preparation)


def _stamp(recipe: Recipe, options: TextOptions, corpora: Path) -> str:
    """Returns the stamp of everything that the text depends on, such as optional corpora."""
    words = [str(options.sample), *recipe.text_words()]
    if any(part.optional for part in recipe.task.parts.values()):
        sources = Sources(recipe, options.raw, options.downloads)
        words += optional_parts(recipe, sources, corpora, options.sample)
    return digest(words)


def _text_command(recipe: Recipe, options: TextOptions, work: Path, to: Path) -> Command:
    words = ["dc-nmt", "recipe", "text", recipe.given_as, "--work", str(work)]
    given = {"--raw": options.raw, "--downloads": options.downloads, "--sample": options.sample}
    for flag, value in given.items():
        words += [flag, str(value)] if value is not None else []
    words += ["--any-counts"] if options.any_counts else []
    return Command([*words, "--out", str(to)], call=partial(_text, recipe, options, work, to))


def _text(recipe: Recipe, options: TextOptions, work: Path, to: Path, log: Path) -> None:
    """Makes the text in this process; shows the progress and stores it as the log of the step."""

    def say(text: str) -> None:
        print(text, flush=True)
        with open(log, "a", encoding="utf-8") as out:
            out.write(f"{text}\n")

    sources = Sources(recipe, options.raw, options.downloads, say)
    say_disk(recipe, sources, work, options.sample, say)
    make_text(recipe, sources, work, to, options.sample, options.any_counts, say)
