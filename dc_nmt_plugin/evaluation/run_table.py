"""One table of finished runs on one test set: scores, tests, speeds, published numbers."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import UsageError, UserError, check_choices
from ..files import read_json
from ..runs.finding import Run
from .chance import Difference
from .metrics import Metric
from .significance import Comparison, compare_systems
from .systems import PlainTextOptions, System, default_metric, labels, load_systems, sides_of

BASELINE_ARCH = "transformer_standard"
# flags that make another model of it
_MECHANISMS = {
    *("encoder-self-attention", "decoder-self-attention", "encoder-layers-of"),
    *("decoder-layers-of", "source-features", "aux-layers"),
}
_PRECISIONS = ("fp16", "bf16", "amp", "memory-efficient-fp16", "memory-efficient-bf16")
# further columns of scores; of each kind, the first metric that a run has
FURTHER_METRICS = (("mteval-v13a-lc", "zh-lc"), ("chrf",))
# flags of fairseq-train that do not change the settings of a run: seed, folders, and settings of
# the machine; the tokens of an update are compared as a product
_NOT_SETTINGS = {
    *("seed", "tensorboard-logdir", "wandb-project"),
    *("max-tokens", "max-tokens-valid", "update-freq", "num-workers", "ddp-backend", "cpu"),
    *("distributed-world-size", "log-format", "log-interval", "log-file", "no-progress-bar"),
}
_TOKENS, _TEXT = "tokens an update", "digest of the training text"
_OPEN_END = {"patience", "max-epoch", "stop-time-hours", "stop-min-lr"}


@dataclass(frozen=True)
class PublishedScore:
    """The score that a paper prints for a run; None if it prints none."""

    score: float | None = None
    metric: str | None = None
    place: str | None = None  # such as "thesis, Table 3.2", with other values printed elsewhere
    differs: str = ""  # settings of the run that are not the paper's, in words


# a run, and the table's metric → its published score
PublishedOf = Callable[[Run, str], PublishedScore]


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
    differs: str = ""  # what differs from the baseline's training, besides the model
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
    published: PublishedOf = lambda run, metric: PublishedScore(),
) -> RunTable:
    """Scores and tests finished runs.

    Args:
        runs: with their translations
        baseline: label of the baseline; default the first run of transformer_standard, else the
            first run
        metric: default the paper's where the baseline's record marks it, else 13a (Chinese: zh)
        over_seeds: one row for all runs of one system
        published: finds the published score of a run

    Raises:
        UserError: the runs are of different test sets, a row would be of runs with different
            settings, or no row has the label
    """
    rows = _rows(runs, over_seeds)
    first = _baseline(rows, baseline)
    rows = {first: rows[first], **rows}
    for label, own in rows.items():
        _check_one_system(label, own)
    every = [run for own in rows.values() for run in own]
    systems = load_systems(every, PlainTextOptions())
    metric = metric or default_metric(systems[0])
    signature, comparisons = _compare(rows, systems, metric, over_seeds)
    signatures = {metric.name: signature}
    for names in FURTHER_METRICS:
        for run in every:
            score = run.decoding.score(*names)
            if score:
                signatures.setdefault(score.metric, score.signature)
    compared_to = rows[first][0]
    table = []
    for comparison, own in zip(comparisons, rows.values(), strict=True):
        row = _row(comparison, own, list(signatures), compared_to, published(own[0], metric.name))
        if row.corrected_p is not None and not baseline:
            differs = _differences(own[0], compared_to)
            row = replace(row, differs=differs, corrected_p=None if differs else row.corrected_p)
        table.append(row)
    return RunTable(metric.name, signatures, len(systems[0].texts.raw.hypotheses), table)


def _rows(runs: Sequence[Run], over_seeds: bool) -> dict[str, list[Run]]:
    """Returns label → runs of that row.

    Over seeds a row has the runs of one system in one folder: runs of equal names in two folders
    are two systems.
    """
    own_labels = labels(runs)
    if len(set(own_labels)) < len(runs):
        raise UserError("the same result twice: name it once")
    if not over_seeds:
        return {label: [run] for label, run in zip(own_labels, runs, strict=True)}
    grouped: dict[tuple[Path, str, str], list[Run]] = {}
    for run in runs:
        system = system_of(run.record.name, run.record.seed)
        grouped.setdefault((run.place.parent, system, run.decoding.key), []).append(run)
    systems = []
    for (folder, system, _), own in grouped.items():
        if len({run.record.seed for run in own}) < len(own):
            names = ", ".join(run.place.name for run in own)
            raise UsageError(f"--over-seeds: two of {names} have the same seed; leave one out")
        # as if the system were a run beside its runs, for its label
        record = replace(own[0].record, name=system)
        systems.append(replace(own[0], path=folder / system, record=record))
    return dict(zip(labels(systems), grouped.values(), strict=True))


def system_of(label: str, seed: int | None) -> str:
    """Returns a run's label without its seed.

    >>> system_of("transformer_dc-tiny-s3", 3)
    'transformer_dc-tiny'
    """
    return label if seed is None else label.removesuffix(f"-s{seed}")


def _baseline(rows: Mapping[str, Sequence[Run]], label: str | None) -> str:
    if label:
        check_choices("--baseline", [label], rows)
        return label
    return next((name for name, runs in rows.items() if _is_plain(runs[0])), next(iter(rows)))


def _is_plain(run: Run) -> bool:
    """Returns True for a plain Transformer, by its settings."""
    plain = (run.record.architecture or "").startswith(BASELINE_ARCH)
    return plain and not run.record.settings.keys() & _MECHANISMS


def _differences(run: Run, baseline: Run) -> str:
    """Returns in which facts of the training, besides the model, two runs differ."""
    differing = []
    for name, own, other in _differing(_facts(run), _facts(baseline)):
        numbers = [f"{each:,}" if isinstance(each, int) else each for each in (own, other)]
        text = (
            "another training text" if name == _TEXT else f"{name} {' instead of '.join(numbers)}"
        )
        differing.append(text)
    return "; ".join(differing)


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yields the names and both values of known settings that differ."""
    for name in dict.fromkeys([*one, *other]):
        values = one.get(name, "not given"), other.get(name, "not given")
        if None in values or values[0] == values[1]:
            continue
        # tokens are rounded over other numbers of GPUs
        if name != _TOKENS or not math.isclose(*values, rel_tol=0.02):
            yield name, *values


def _compare(
    rows: Mapping[str, Sequence[Run]], systems: Sequence[System], metric: Metric, over_seeds: bool
) -> tuple[str, list[Comparison]]:
    """Returns the signature, and each row's score and test; `systems` are in the rows' order."""
    sides = list(sides_of(systems, metric).values())
    references, language = sides[0].references, systems[0].target_lang
    score, signature = metric.score(sides[0].hypotheses, references, language)
    if len(systems) == 1:
        return signature, [Comparison(next(iter(rows)), score, 0.0)]
    remaining = iter(sides)
    texts: dict[str, dict[str, list[str]]] = {}
    for label, runs in rows.items():
        for run in runs:
            seed = str(run.record.seed) if over_seeds and run.record.seed is not None else ""
            texts.setdefault(label, {})[seed] = next(remaining).hypotheses
    return signature, compare_systems(texts, references, language, metric)


def _row(
    comparison: Comparison,
    runs: Sequence[Run],
    metrics: Sequence[str],
    baseline: Run,
    published: PublishedScore,
) -> RunRow:
    """Returns the row of a system: means over its runs, and the first run's common values.

    Args:
        comparison: with the baseline
        runs: of the system
        metrics: of the table; the first is that of the comparison
        baseline: its first run
        published: score of the first run
    """
    run = runs[0]
    # speeds of another device say nothing; an unknown device may be the same
    training, decoding = [], []
    for each in runs:
        if len({_device(each), _device(baseline)} - {None}) < 2:
            training.append(each.record.training.tokens_per_second)
        if len({_decoding_device(each), _decoding_device(baseline)} - {None}) < 2:
            decoding.append(each.decoding.sentences_per_second)
    scores = {metrics[0]: comparison.score}
    for metric in filter(None, (*metrics[1:], published.metric)):
        values = [score.value for each in runs if (score := each.decoding.score(metric))]
        if values:
            scores.setdefault(metric, statistics.fmean(values))
    gap = None
    if published.score is not None and published.metric in scores:
        gap = scores[published.metric] - published.score
    return RunRow(
        label=comparison.name,
        run=_relative(run.folder.parent / run.record.system if len(runs) > 1 else run.folder),
        arch=run.record.architecture,
        parameters=run.record.training.parameters,
        updates=run.updates,
        train_tokens_per_second=_mean(training),
        decode_sentences_per_second=_mean(decoding),
        score=comparison.score,
        scores={name: scores[name] for name in metrics[1:] if name in scores},
        seeds=len(runs),
        deviation=comparison.deviation,
        difference=comparison.difference,
        compared_seeds=None if comparison.seeds is None else list(comparison.seeds),
        against=comparison.against,
        corrected_p=comparison.corrected_p,
        published=published,
        to_published=gap,
    )


def _device(run: Run) -> str | None:
    return run.record.training.device


def _decoding_device(run: Run) -> str | None:
    return run.decoding.device or _device(run)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _relative(folder: Path) -> str:
    """Returns the folder relative to the working folder, or its name: no path of this machine."""
    path = Path(os.path.relpath(folder))
    return folder.name if ".." in path.parts else path.as_posix()


def _check_one_system(row: str, runs: Sequence[Run]) -> None:
    """Checks that runs of one system differ in the seed alone.

    Raises:
        UserError: they were trained with other settings, updates, tokens or text
    """
    first = runs[0]
    for run in runs[1:]:
        for name, one, other in _differing(_settings(first), _settings(run)):
            raise UsageError(
                f"--over-seeds: {row} would be a mean of different settings: {name} is {one} "
                f"in {first.record.name} and {other} in {run.record.name}; leave one out"
            )


def _settings(run: Run) -> dict[str, Any]:
    """Returns the settings that are the same for every seed: name → value, None if unknown."""
    settings = run.record.settings
    flags = {f"--{flag}": value for flag, value in settings.items() if flag not in _NOT_SETTINGS}
    return {**flags, **_facts(run)}


def _facts(run: Run) -> dict[str, Any]:
    """Returns facts of a training, None if unknown."""
    record = run.record
    return {
        # open ends: such a run stops where it learns no more
        "updates": None if record.settings.keys() & _OPEN_END else run.updates,
        _TOKENS: record.training.tokens,
        _TEXT: record.data.text,
        "precision": next((p for p in _PRECISIONS if record.settings.get(p)), "fp32"),
    }
