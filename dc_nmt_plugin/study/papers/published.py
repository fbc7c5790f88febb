"""The published number that stands beside a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...flags import as_flags, flag_values, typed_flags
from ...laboratory.evaluation.conditions import full_search
from ...laboratory.evaluation.rows import PublishedScore
from ...laboratory.finding import Run
from ...runs.differences import (
    NOT_GIVEN,
    NOT_PRINTED,
    TOKENS,
    all_settings,
    compared,
    differing,
    shown,
)
from .document import SCORES, Entry
from .reader import read_documents


def published_score(run: Run, metric: str) -> PublishedScore:
    """Returns the published score of a run, by `metric` or by another that the run has."""
    for name in (metric, *(score.metric for score in run.decoding.scores)):
        number = published_number(run, name)
        if number:
            return number
    return PublishedScore()


def published_number(run: Run, metric: str) -> PublishedScore | None:
    """Returns the score by one metric that the papers print for a run; None if they print none.

    The task, the architecture with its size, the decoder, masked layers, the test set and the
    metric are the same. Of several such numbers, the one with the fewest settings that differ.
    """
    candidates = [
        entry
        for document in read_documents()
        for entry in document.entries
        if entry.value is not None and entry.measure == metric and _is_of(entry, run)
    ]
    if not candidates:
        return None
    with_differences = [(entry, differing_settings(entry, run)) for entry in candidates]
    fewest = min((differences for _, differences in with_differences), key=len)
    nearest = [entry for entry, differences in with_differences if differences == fewest]
    value = nearest[0].value
    assert value is not None
    return PublishedScore(
        score=float(value),
        metric=metric,
        printed_in=_printed_in(nearest),
        differs="; ".join(fewest),
    )


def _printed_in(entries: Sequence[Entry]) -> str:
    """Returns where the first entry's value is printed, and other values for the same settings."""
    value = entries[0].value
    printed = [f"{entry.document}, {entry.item}" for entry in entries if entry.value == value]
    others = [f"{entry.item} has {entry.value}" for entry in entries if entry.value != value]
    return "; ".join(dict.fromkeys([*printed, *others]))


def _is_of(entry: Entry, run: Run) -> bool:
    """Returns True for a number of the same architecture, translated in the same way."""
    search = run.decoding.search
    masked = str(search.get("mask-source-layers") or "")
    return (
        (entry.task, entry.arch) == (run.record.task, run.record.architecture)
        and entry.subset == run.decoding.subset
        and not run.decoding.ensemble
        and entry.part == str(search.get("decode-with") or "main")
        and entry.decoding.get("mask_source_layers", "") == masked
        and not search.get("no-aux-fusion")  # no published number is without it
        and not entry.of
    )


def differing_settings(entry: Entry, run: Run) -> list[str]:
    """Returns the settings in which a run differs from the recipe of a published number, in words.

    ``recipes/papers.yaml`` says which settings of a recipe are printed, and which are choices.
    """
    from ...laboratory.recipes.recipe import load
    from ...laboratory.recipes.settings import settings_of

    settings, tokens = all_settings(run.record), run.record.training.tokens
    if not settings:
        return ["the settings of the run are unknown"]
    recipe = settings_of(load(entry.task), entry.arch, like=entry.training)
    training = {**flag_values(recipe.flags), "--max-update": str(recipe.updates)}
    flags = flag_values(as_flags(compared(settings, NOT_PRINTED)))
    model = flag_values(as_flags(entry.flags))
    if entry.measure == "params":  # the training does not change the size
        for flag in training.keys() - model.keys():
            flags.pop(flag, None)
        return _in_words(model, flags)
    differences = _in_words(
        {TOKENS: recipe.tokens, **training, **model},
        {TOKENS: NOT_GIVEN if tokens is None else tokens, **flags},
    )
    if entry.measure in SCORES:
        published_search = full_search(typed_flags(recipe.decode))
        differences += _in_words(published_search, full_search(run.decoding.search))
    return differences


def _in_words(expected: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    return [
        f"{name} {shown(value)}, in the recipe {shown(recipe_value)}"
        for name, recipe_value, value in differing(expected, found)
    ]
