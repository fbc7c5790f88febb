"""One table of finished runs on one test set: scores, tests, speeds, published numbers.

``runs/finding.py`` reads the records of runs. Here :func:`collect` groups the runs, scores and
tests each group, and makes a :class:`RunRow` of it. ``table_text.py`` prints the rows.
"""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import UsageError, UserError, check_choices
from ..files import read_json
from ..runs.finding import Run
from .chance import Difference
from .metrics import Metric
from .significance import Comparison, compare_systems
from .systems import PlainTextOptions, default_metric, labelled, labels, load_systems, sides_of
from .texts import Sides

BASELINE_ARCH = "transformer_standard"
# flags that make another model of that architecture
_MECHANISM_FLAGS = {
    *("encoder-self-attention", "decoder-self-attention", "encoder-layers-of"),
    *("decoder-layers-of", "source-features", "aux-layers"),
}
_PRECISION_FLAGS = ("fp16", "bf16", "amp", "memory-efficient-fp16", "memory-efficient-bf16")
# with one of these flags a run ends where it learns no more, so updates differ between seeds
_STOPPING_FLAGS = {"patience", "max-epoch", "stop-time-hours", "stop-min-lr"}
# flags in which runs of one system may differ: seed, folders, settings of the machine; of the batch
# the tokens of an update are compared instead
_FREE_FLAGS = {
    *("seed", "tensorboard-logdir", "wandb-project", "cuda-graphs"),
    *("max-tokens", "max-tokens-valid", "update-freq", "num-workers", "ddp-backend", "cpu"),
    *("distributed-world-size", "log-format", "log-interval", "log-file", "no-progress-bar"),
}
_TOKENS, _TEXT = "tokens an update", "digest of the training text"
FURTHER_METRICS = ("mteval-v13a-lc", "chrf")  # columns beside the table's metric


@dataclass(frozen=True)
class PublishedScore:
    """The score that a paper prints for a run; None if it prints none."""

    score: float | None = None
    metric: str | None = None
    place: str | None = None  # such as "thesis, Table 3.2", with other values printed elsewhere
    differs: str = ""  # settings of the run that are not the paper's, in words


# the runs of each row: label → seed → run; without --over-seeds the seed is ""
Groups = dict[str, dict[str, Run]]
# a run, and the table's metric → its published score
FindPublished = Callable[[Run, str], PublishedScore]


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """One run, or the runs of one system."""

    label: str  # name of the run, with that of the translation if it is not the recipe's
    run: str  # its folder, relative to the checkout where it is below it
    arch: str | None = None
    parameters: int | None = None
    updates: int | None = None
    train_tokens_per_second: float | None = None  # target tokens
    decode_sentences_per_second: float | None = None
    score: float  # by the table's metric; a mean over `seeds` runs
    scores: dict[str, float] = field(default_factory=dict)  # by other metrics
    seeds: int = 1
    deviation: float | None = None  # standard deviation over the seeds; None for one run
    difference: float | None = None  # to the baseline, over `compared_seeds`
    # seeds that the baseline has too; empty: the systems share no seed, so the difference is over
    # all seeds; None for the baseline and single runs
    compared_seeds: list[str] | None = None
    against: Difference | None = None  # None for the baseline, and for too little text
    corrected_p: float | None = None  # by Holm for the number of systems; None if `differs`
    differs: str = ""  # what differs from the baseline's training and search, besides the model
    published: PublishedScore = PublishedScore()
    to_published: float | None = None  # the run's score by that metric minus the published one


@dataclass(frozen=True)
class RunTable:
    """A table of runs on one test set; the first row is the baseline."""

    metric: str  # of scores, differences and tests
    signatures: dict[str, str]  # of it and of the other metrics
    sentences: int  # of the test set
    rows: list[RunRow]
    speeds: str | None = None  # how the speeds were measured; None: by the runs' own logs

    @classmethod
    def read(cls, path: Path) -> RunTable:
        """Raises UserError where the file does not hold a table."""
        table = read_json(path, cls)
        if not table.rows:
            raise UserError(f"{path}: has no rows")
        return table


def collect(
    runs: Sequence[Run],
    baseline: str | None = None,
    metric: Metric | None = None,
    over_seeds: bool = False,
    find_published: FindPublished = lambda run, metric: PublishedScore(),
) -> RunTable:
    """Scores and tests finished runs.

    Args:
        runs: with their translations
        baseline: label of the baseline; default the first run of transformer_standard, else the
            first run
        metric: default the paper's where the baseline's record marks it, else 13a (Chinese: zh)
        over_seeds: one row for all runs of one system
        find_published: finds the published score of a run

    Raises:
        UserError: the runs are of different test sets, a row would be of runs with different
            settings, or no row has the label
    """
    groups = _group(runs, over_seeds)
    first = _baseline(groups, baseline)
    groups = {first: groups[first], **groups}  # the baseline is the first row
    for label, group in groups.items():
        _check_same_settings(label, list(group.values()))

    ordered = [run for group in groups.values() for run in group.values()]
    systems = load_systems(ordered, PlainTextOptions())
    metric = metric or default_metric(systems[0])
    sides = list(sides_of(systems, metric).values())
    signature, comparisons = _compare(groups, sides, systems[0].target_lang, metric)
    signatures = {metric.name: signature}
    for name in FURTHER_METRICS:
        for run in ordered:
            score = run.decoding.score(name)
            if score:
                signatures.setdefault(name, score.signature)

    rows = []
    for comparison, group in zip(comparisons, groups.values(), strict=True):
        row_runs = list(group.values())
        differs = ""
        # who names a baseline wants the test, whatever differs
        if comparison.corrected_p is not None and not baseline:
            differs = _differences(row_runs[0], ordered[0])
        published = find_published(row_runs[0], metric.name)
        rows.append(_row(comparison, row_runs, ordered[0], list(signatures), differs, published))
    return RunTable(metric.name, signatures, len(sides[0].hypotheses), rows)


# -- from runs to groups -----------------------------------------------------------------------


def _group(runs: Sequence[Run], over_seeds: bool) -> Groups:
    """Groups runs into rows: each run alone, or the runs of one system in one folder."""
    run_labels = labels(runs)
    if len(set(run_labels)) < len(runs):
        raise UserError("the same result twice: name it once")
    if not over_seeds:
        return {label: {"": run} for label, run in zip(run_labels, runs, strict=True)}
    # runs of equal names in two folders are two systems, and so are two translations of a run
    systems: dict[tuple[Path, str, str], dict[str, Run]] = {}
    for run in runs:
        group = systems.setdefault((run.place.parent, _system(run), run.decoding.key), {})
        seed = "" if run.record.seed is None else str(run.record.seed)
        if seed in group:
            both = f"{group[seed].place.name} and {run.place.name}"
            raise UsageError(f"--over-seeds: {both} have the same seed; leave one out")
        group[seed] = run
    row_labels = labelled(
        names=[system for _, system, _ in systems],
        places=[folder / system for folder, system, _ in systems],
        keys=[key for _, _, key in systems],
    )
    return dict(zip(row_labels, systems.values(), strict=True))


def _system(run: Run) -> str:
    """Returns a run's name without its seed; ``record.system`` may have it, of score --name."""
    return run.record.name.removesuffix(f"-s{run.record.seed}")


def _baseline(groups: Groups, label: str | None) -> str:
    """Returns the label of the baseline: `label`, else the first plain Transformer's."""
    if label:
        check_choices("--baseline", [label], groups)
        return label
    for name, group in groups.items():
        record = next(iter(group.values())).record
        plain = (record.architecture or "").startswith(BASELINE_ARCH)
        if plain and not record.settings.keys() & _MECHANISM_FLAGS:
            return name
    return next(iter(groups))


# -- which settings differ ---------------------------------------------------------------------


def _check_same_settings(label: str, runs: Sequence[Run]) -> None:
    """Checks that the runs of a row differ in the seed alone.

    Raises:
        UserError: they differ in settings, updates, tokens, text or search
    """
    first = runs[0]
    for run in runs[1:]:
        for name, value, other_value in _differing(_settings(first), _settings(run)):
            raise UsageError(
                f"--over-seeds: {label} would be a mean of different settings: {name} is {value} "
                f"in {first.record.name} and {other_value} in {run.record.name}; leave one out"
            )


def _differences(run: Run, baseline: Run) -> str:
    """Returns in words how training and search of two runs differ, besides the model."""
    differences = []
    for name, value, other_value in _differing(_conditions(run), _conditions(baseline)):
        if name == _TEXT:
            differences.append("another training text")
        elif isinstance(value, int):
            differences.append(f"{name} {value:,} instead of {other_value:,}")
        else:
            differences.append(f"{name} {value} instead of {other_value}")
    return "; ".join(differences)


def _settings(run: Run) -> dict[str, Any]:
    """Returns the settings that are the same for every seed: name → value, None if unknown."""
    settings = run.record.settings
    flags = {f"--{flag}": value for flag, value in settings.items() if flag not in _FREE_FLAGS}
    return {**flags, **_conditions(run)}


def _conditions(run: Run) -> dict[str, Any]:
    """Returns facts of training and search: name → value, None if unknown."""
    record = run.record
    search = {} if run.decoding.name else run.decoding.search  # --as: searches are compared
    return {
        "updates": None if record.settings.keys() & _STOPPING_FLAGS else run.updates,
        _TOKENS: record.training.tokens,
        _TEXT: record.data.text,
        "precision": next((flag for flag in _PRECISION_FLAGS if record.settings.get(flag)), "fp32"),
        "beam": search.get("beam", 5) if search else None,
        "length penalty": search.get("lenpen", 1) if search else None,
    }


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yields the names and both values of known settings that differ."""
    for name in dict.fromkeys([*one, *other]):  # each name once, in this order
        value, other_value = one.get(name, "not given"), other.get(name, "not given")
        if value is None or other_value is None or value == other_value:
            continue
        # tokens of an update are rounded over other numbers of GPUs
        if name != _TOKENS or not math.isclose(value, other_value, rel_tol=0.02):
            yield name, value, other_value


# -- from groups to rows -----------------------------------------------------------------------


def _compare(
    groups: Groups, sides: Sequence[Sides], target_lang: str, metric: Metric
) -> tuple[str, list[Comparison]]:
    """Returns the signature, and each row's score and test; `sides` are in the runs' order."""
    references = sides[0].references
    score, signature = metric.score(sides[0].hypotheses, references, target_lang)
    if len(sides) == 1:  # nothing to test: no bootstrap
        return signature, [Comparison(next(iter(groups)), score, interval=0.0)]
    hypotheses: dict[str, dict[str, list[str]]] = {label: {} for label in groups}
    places = [(label, seed) for label, group in groups.items() for seed in group]
    for (label, seed), side in zip(places, sides, strict=True):
        hypotheses[label][seed] = side.hypotheses
    return signature, compare_systems(hypotheses, references, target_lang, metric)


def _row(
    comparison: Comparison,
    runs: Sequence[Run],
    baseline: Run,
    metrics: Sequence[str],
    differs: str,
    published: PublishedScore,
) -> RunRow:
    """Returns the row of a system: means over its runs, and the first run's common values.

    The first of `metrics` is the comparison's; `baseline` is the baseline's first run.
    """
    first = runs[0]
    # columns of other metrics are from the records, this one is of the hypotheses as they are now
    stored = _mean_score(runs, metrics[0])
    if stored is not None and abs(stored - comparison.score) > 0.005:
        raise UserError(
            f"{comparison.name}: its hypotheses have {comparison.score:.2f} {metrics[0]}, and "
            f"{stored:.2f} in its record; score them again"
        )
    further = {metric: _mean_score(runs, metric) for metric in metrics[1:]}
    to_published = None
    if published.metric is not None and published.score is not None:
        score = _mean_score(runs, published.metric)
        if published.metric == metrics[0]:
            score = comparison.score
        if score is not None:
            to_published = score - published.score
    # speeds of another device than the baseline's say nothing; an unknown device may be the same
    training_speeds, decoding_speeds = [], []
    for run in runs:
        if _may_be_equal(run.record.training.device, baseline.record.training.device):
            training_speeds.append(run.record.training.tokens_per_second)
        if _may_be_equal(_decoding_device(run), _decoding_device(baseline)):
            decoding_speeds.append(run.decoding.sentences_per_second)
    return RunRow(
        label=comparison.name,
        run=_relative(first.folder if len(runs) == 1 else first.folder.parent / _system(first)),
        arch=first.record.architecture,
        parameters=first.record.training.parameters,
        updates=first.updates,
        train_tokens_per_second=_mean(training_speeds),
        decode_sentences_per_second=_mean(decoding_speeds),
        score=comparison.score,
        scores={metric: score for metric, score in further.items() if score is not None},
        seeds=len(runs),
        deviation=comparison.deviation,
        difference=comparison.difference,
        compared_seeds=None if comparison.seeds is None else list(comparison.seeds),
        against=comparison.against,
        corrected_p=None if differs else comparison.corrected_p,
        differs=differs,
        published=published,
        to_published=to_published,
    )


def _mean_score(runs: Sequence[Run], metric: str) -> float | None:
    """Returns the mean of the scores in the records; None where a run has no such score."""
    scores = list(filter(None, (run.decoding.score(metric) for run in runs)))
    return _mean([score.value for score in scores]) if len(scores) == len(runs) else None


def _mean(values: Sequence[float | None]) -> float | None:
    """Returns the mean of the known values."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _decoding_device(run: Run) -> str | None:
    return run.decoding.device or run.record.training.device


def _may_be_equal(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other


def _relative(folder: Path) -> str:
    """Returns the folder relative to the working folder, or its name: no path of this machine."""
    path = Path(os.path.relpath(folder))
    return folder.name if ".." in path.parts else path.as_posix()
