"""Compares how two runs were trained and translated, besides the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...errors import UsageError
from ...flags import PRECISION, START, STOPPING, flag_name, flags_of
from ...runs.differences import (
    NOT_GIVEN,
    OF_ONE_SYSTEM,
    TOKENS,
    Differing,
    all_settings,
    compared,
    differing,
    shown,
)
from ..finding import Run

# Two compared models may want other values here, and the reader of their table must know.
HOW_TRAINED = (
    "dropout", "attention-dropout", "activation-dropout", "label-smoothing", "optimizer",
    "adam-betas", "lr", "lr-scheduler", "warmup-updates", "weight-decay", "clip-norm",
    "batch-size", START,
)  # fmt: skip
# flags of fairseq-generate that recipes set, and fairseq's values without them
SEARCH = {"beam": 5, "lenpen": 1, "length-penalty": "fairseq", "no-repeat-ngram-size": 0}
_TEXT = "digest of the training text"


def check_same_settings(label: str, runs: Iterable[Run]) -> None:
    """Checks that the runs of a row differ in the seed alone.

    Raises:
        UserError: they differ in settings, updates, tokens, text or search
    """
    first, *others = runs
    for run in others:
        for name, value, other_value in _differing_settings(first, run):
            raise UsageError(
                f"--over-seeds: {label} would be a mean of different settings: {name} is "
                f"{shown(value)} in {first.record.name} and {shown(other_value)} in "
                f"{run.record.name}; leave one out"
            )


def is_other_seed(run: Run, baseline: Run) -> bool:
    """Returns True for two runs of one system: they differ in the seed, and in nothing known."""
    one, other = run.record, baseline.record
    if None in (one.seed, other.seed, one.architecture) or one.seed == other.seed:
        return False
    are_alike = one.architecture == other.architecture and one.sources == other.sources
    is_same_decoding = run.decoding.key == baseline.decoding.key
    return are_alike and is_same_decoding and not any(_differing_settings(run, baseline))


def different_conditions(run: Run, baseline: Run) -> str:
    """Returns in words how updates, batch, text, precision and search of two runs differ."""
    return _in_words(differing(_conditions(run), _conditions(baseline)))


def different_settings(run: Run, baseline: Run) -> str:
    """Returns in words how other settings of two runs differ, which may belong to the model.

    They are those of :data:`HOW_TRAINED`, the averaged checkpoints, and the search of a translation
    with a name.
    """
    # without a name, the conditions have the search
    is_named = bool(run.decoding.name or baseline.decoding.name)
    both = (_how_made(run, with_search=is_named), _how_made(baseline, with_search=is_named))
    return _in_words(differing(*both))


def all_differences(run: Run, baseline: Run) -> str:
    """Returns what :func:`different_conditions` and :func:`different_settings` return."""
    both = (different_conditions(run, baseline), different_settings(run, baseline))
    return "; ".join(filter(None, both))


def _in_words(differences: Iterable[Differing]) -> str:
    words = []
    for name, value, baseline_value in differences:
        if name == _TEXT:
            words.append("another training text")
        elif isinstance(value, int) and isinstance(baseline_value, int):
            words.append(f"{name} {value:,} instead of {baseline_value:,}")
        else:
            words.append(f"{name} {shown(value)} instead of {shown(baseline_value)}")
    return "; ".join(words)


def _how_made(run: Run, *, with_search: bool) -> dict[str, Any]:
    settings = all_settings(run.record)
    # without settings, such as in a record of dc-nmt score, they are unknown
    missing: dict[str, Any] = {} if settings else dict.fromkeys(HOW_TRAINED)
    known = {flag: settings[flag] for flag in HOW_TRAINED if flag in settings}
    how_trained = {flag_name(name): value for name, value in {**missing, **known}.items()}
    search = full_search(run.decoding.search) if with_search else {}
    return {**how_trained, "averaged checkpoints": run.decoding.averaged, **search}


def _differing_settings(one: Run, other: Run) -> Iterable[Differing]:
    """Yields what differs in two runs that should differ in the seed alone."""
    return differing(all_conditions(one), all_conditions(other))


def all_conditions(run: Run) -> dict[str, Any]:
    """Returns what is the same for every seed of a system: name → value, None if unknown."""
    settings = compared(all_settings(run.record), OF_ONE_SYSTEM)
    return {**{flag_name(name): value for name, value in settings.items()}, **_conditions(run)}


def _conditions(run: Run) -> dict[str, Any]:
    """Returns facts of training and search: name → value, None if unknown."""
    record = run.record
    settings = all_settings(record)
    # translations with a name (evaluate --as) are compared because their search differs
    search = {} if run.decoding.name else run.decoding.search
    given = {flag: settings[flag] for flag in flags_of(PRECISION) if settings.get(flag)}
    # a run that changed its precision has words as the value
    precisions = [flag if value is True else f"{flag} {value}" for flag, value in given.items()]
    stops_early = any(flag in settings for flag in flags_of(STOPPING))  # at other updates each seed
    return {
        "updates": None if stops_early else run.updates,
        TOKENS: record.training.tokens,
        _TEXT: record.data.text,
        "precision": next(iter(precisions), "fp32"),
        "ensemble with": " and ".join(str(each.run) for each in run.decoding.ensemble) or NOT_GIVEN,
        **full_search(search),
    }


def full_search(search: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the flags of :data:`SEARCH`, with fairseq's values for those that are not given.

    Without any flag, the search is unknown: its values are None.
    """
    values = SEARCH if search else dict.fromkeys(SEARCH)
    return {f"--{flag}": search.get(flag, value) for flag, value in values.items()}
