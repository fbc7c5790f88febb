"""Scores and tests finished runs together."""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import UsageError, UserError, check_choices
from ..machine import is_gpu
from ..runs.finding import Run, distinguished
from .chance import Difference
from .metrics import Metric
from .one_system import check_one_system
from .published import published
from .run_table import RunRow, RunTable
from .scores import COLUMNS
from .seeds import by_row, system_of
from .significance import Comparison, compare_systems, paired_bootstrap
from .speeds import DECODING, TRAINING, Speeds
from .systems import PlainTextOptions, System, default_metric, labels, load_systems, sides_of

BASELINE_ARCH = "transformer_standard"


def collect(
    runs: Sequence[Run],
    baseline: str | None = None,
    metric: Metric | None = None,
    names: Mapping[str, str] | None = None,
    over_seeds: bool = False,
    speeds: Speeds | None = None,
    files: Sequence[Path] = (),
) -> RunTable:
    """Scores and tests finished runs.

    Args:
        runs: with their translations
        baseline: label of the baseline; default the first run of transformer_standard, else the
            first run
        metric: default the paper's where the baseline's record marks it, else 13a (Chinese: zh)
        names: a run's name → label
        over_seeds: one row for all runs of one system
        speeds: a benchmark of the runs' models, used instead of the speeds in the records
        files: hypotheses of other toolkits, on the same test set

    Raises:
        UserError: the runs are of different test sets, a row would be of runs with different
            settings, a name is unknown, or the benchmark is of none of the runs.
    """
    named = _labels(runs, names or {})
    by_label = {label: run for (label, _), run in zip(named, runs, strict=True)}
    if len(by_label) < len(runs):
        raise UserError("the same result twice: name it once")
    order = _baseline_first(dict(named), by_label, baseline, over_seeds)
    runs_of = by_row(order, over_seeds)
    for row, seeds in runs_of.items():
        check_one_system(row, {label: by_label[label] for label in seeds})
    names_of_files = dict(zip(labels(files), files, strict=True))
    items: list[Run | Path] = [*(by_label[label] for label in order), *files]
    systems = load_systems(items, PlainTextOptions(), [*order, *names_of_files])
    metric = metric or default_metric(systems[0])
    signature, compared = _compare(systems, metric, runs_of, over_seeds)
    compared_to = by_label[next(iter(order))]
    others = {
        score.metric: score.signature
        for heading in ("BLEU lc", "chrF")
        if (score := compared_to.decoding.score(*COLUMNS[heading])) and score.metric != metric.name
    }
    signatures = {metric.name: signature, **others}
    rows = [
        RunRow(label=c.name, run=_relative(names_of_files[c.name]), **_tested(c))
        if c.name in names_of_files
        else _row(
            [by_label[label] for label in runs_of[c.name]],
            *(c, metric.name, list(others), speeds, compared_to),
        )
        for c in compared
    ]
    if speeds and not any(_speeds_of(row) for row in rows):
        raise UsageError(
            f"--speeds: has {', '.join(speeds.names)}, none of {', '.join(runs_of)}; "
            "dc-nmt bench RUN… --json measures runs"
        )
    where = speeds.where if speeds else None
    sentences = len(systems[0].texts.raw.hypotheses)
    return RunTable(metric.name, signatures, sentences, rows, where)


def _compare(
    systems: Sequence[System],
    metric: Metric,
    rows: Mapping[str, Sequence[str]],
    over_seeds: bool,
) -> tuple[str, list[Comparison]]:
    """Returns signature and scores of the systems, with tests if there are several."""
    sides = sides_of(systems, metric)
    texts = {label: side.hypotheses for label, side in sides.items()}
    baseline, language = systems[0].label, systems[0].target_lang
    references = sides[baseline].references
    score, signature = metric.score(texts[baseline], references, language)
    if len(systems) == 1:
        return signature, [Comparison(next(iter(rows)), score, 0.0)]
    if not over_seeds:
        return signature, paired_bootstrap(texts, references, language, metric)
    seeds = {s.label: s.run.record.seed for s in systems if s.run}
    pooled: dict[str, dict[str, list[str]]] = {}
    for name, runs in rows.items():
        of = {label: "" if seeds[label] is None else str(seeds[label]) for label in runs}
        pooled[name] = {of[label]: texts[label] for label in runs}
        if len(pooled[name]) < len(runs):
            raise UsageError(
                f"--over-seeds: two of {', '.join(runs)} have the same seed; leave one out"
            )
    pooled |= {s.label: {"": texts[s.label]} for s in systems if not s.run}
    return signature, compare_systems(pooled, references, language, metric)


def _row(
    runs: Sequence[Run],
    comparison: Comparison,
    metric: str,
    others: Sequence[str],
    speeds: Speeds | None,
    compared_to: Run,
) -> RunRow:
    """Returns the row of a system: means over its runs, and the first run's common values.

    Speeds from the records are those of runs on the device of the run that they are compared to,
    or on an unknown one.
    """
    run = runs[0]
    if speeds:
        training, decoding = (speeds.speed(mode, runs) for mode in (TRAINING, DECODING))
    else:
        training = _mean(
            each.record.training.tokens_per_second
            for each in runs
            if _on_one_device(each, compared_to)
        )
        decoding = _mean(
            each.decoding.sentences_per_second
            for each in runs
            if _on_one_device(each, compared_to, decoding=True)
        )
    paper = published(run, metric)
    if paper.metric and paper.score is not None:
        own = comparison.score  # by the table's metric
        ours = own if paper.metric == metric else _mean_score(runs, paper.metric)
        paper = replace(paper, difference=None if ours is None else ours - paper.score)
    place = run.folder.parent / run.record.system if len(runs) > 1 else run.folder
    return RunRow(
        label=comparison.name,
        run=_relative(place),
        arch=run.record.architecture,
        parameters=run.record.training.parameters,
        published_parameters=paper.parameters,
        updates=run.updates,
        train_tokens_per_second=training,
        decode_sentences_per_second=decoding,
        scores={name: round(mean, 4) for name in others if (mean := _mean_score(runs, name))},
        published_score=paper.score,
        published_place=paper.place,
        published_metric=paper.metric,
        to_published=_rounded(paper.difference, 4),
        seeds=len(runs),
        **_tested(comparison),
    )


_SOME_CPU = "a CPU"


def _on_one_device(run: Run, other: Run, decoding: bool = False) -> bool:
    """Returns whether the speeds of two runs can be compared, as far as their records say."""
    devices = {device for each in (run, other) if (device := _device(each, decoding))}
    return len(devices) < 2 or (_SOME_CPU in devices and not any(map(is_gpu, devices)))


def _device(run: Run, decoding: bool) -> str | None:
    training = run.record.training.device  # older records have none for the translation, or at all
    known = (decoding and run.decoding.device) or training
    return known or (_SOME_CPU if run.record.settings.get("cpu") else None)


def _tested(comparison: Comparison) -> dict[str, Any]:
    """Returns score and test, rounded, so that the stored file is the same on every machine."""
    return {
        "score": round(comparison.score, 4),
        "difference": _rounded(comparison.difference, 4),
        "against": _rounded_test(comparison.against),
        "corrected_p": _rounded(comparison.corrected_p, 6),
        "deviation": _rounded(comparison.deviation, 4),
        "compared_seeds": None if comparison.seeds is None else list(comparison.seeds),
    }


def _rounded_test(test: Difference | None) -> Difference | None:
    if test is None:
        return None
    low, high = test.interval
    return Difference(
        round(test.value, 4),
        (round(low, 4), round(high, 4)),
        round(test.p_value, 6),
        round(test.standard_error, 6),
        _rounded(test.freedom, 2),
        round(test.sentences_p_value, 6),
        _rounded(test.seeds_p_value, 6),
        round(test.sacrebleu_p_value, 6),
    )


def _speeds_of(row: RunRow) -> list[float]:
    both = (row.train_tokens_per_second, row.decode_sentences_per_second)
    return [speed for speed in both if speed is not None]


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _mean_score(runs: Sequence[Run], metric: str) -> float | None:
    found = (each.decoding.score(metric) for each in runs)
    return _mean(score.value if score else None for score in found)


def _labels(runs: Sequence[Run], names: Mapping[str, str]) -> list[tuple[str, str]]:
    """Returns the label of each run, and that of its row over seeds."""
    check_choices("--name", names, list(dict.fromkeys(run.record.name for run in runs)))
    own = [names.get(run.record.name, run.record.name) for run in runs]
    starts, ends = distinguished(own, [run.place for run in runs]), list(map(_end, runs))
    # for example, the evaluation's name distinguishes two masks of one decoder
    full = list(zip(starts, ends, strict=True))
    ends = [
        _joined(end, run.decoding.way) if full.count((start, end)) > 1 else end
        for start, end, run in zip(starts, ends, runs, strict=True)
    ]
    rows = [system_of(name, run.record.seed) for name, run in zip(own, runs, strict=True)]
    seeds = Counter(zip(rows, ends, (run.record.seed for run in runs), strict=True))
    twice = {row for (row, _, _), count in seeds.items() if count > 1}
    # runs of one seed in two folders are two systems
    places = [
        run.place.parent / row if row in twice else Path(row)
        for row, run in zip(rows, runs, strict=True)
    ]
    rows = distinguished(rows, places)
    return [
        (_joined(start, end), _joined(row, end))
        for start, row, end in zip(starts, rows, ends, strict=True)
    ]


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _end(run: Run) -> str:
    """Returns how a run was decoded, for its label."""
    decoder = run.decoding.decoder
    return f"decoder {decoder}" if decoder else run.decoding.way


def _baseline_first(
    rows: Mapping[str, str], by_label: Mapping[str, Run], baseline: str | None, over_seeds: bool
) -> dict[str, str]:
    """Returns label → row, those of the baseline first."""
    labels_of = by_row(rows, over_seeds)
    if baseline:
        check_choices("--baseline", [baseline], labels_of)
    plain = [
        name
        for name, labels in labels_of.items()
        if (by_label[labels[0]].record.architecture or "").startswith(BASELINE_ARCH)
    ]
    first = baseline or next(iter([*plain, *labels_of]))
    order = [*labels_of[first], *(label for label in rows if label not in labels_of[first])]
    return {label: rows[label] for label in order}


def _relative(folder: Path) -> str:
    """Returns the folder relative to the working folder, or its name: no path of this machine."""
    path = Path(os.path.relpath(folder))
    return folder.name if ".." in path.parts else path.as_posix()
