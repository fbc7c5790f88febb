"""Finds finished runs in folders, scores and tests them together."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import UserError, check_choices
from ..flags import COMMAND
from .chance import Difference
from .metrics import Metric
from .published import published
from .results import COLUMNS, RESULT, Result, results_of
from .run import TOKENS, Run
from .run_table import RunRow, RunTable
from .seeds import by_row, seed_of, system_of
from .significance import Comparison, compare_systems, paired_bootstrap
from .speeds import DECODING, TRAINING, Speeds
from .systems import PlainTextOptions, System, default_metric, labels, load_systems, sides_of

BASELINE_ARCH = "transformer_standard"


def find_runs(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Finds result files in runs and in folders of runs, and the runs without a result.

    A run decoded in several ways has several folders ``score…``, each with its result.

    Raises:
        UserError: a path is neither, or nothing is finished.
    """
    found: list[Path] = []
    unfinished: list[Path] = []
    for path in paths:
        if path.is_file():
            found.append(path)
            continue
        if not path.is_dir():
            raise UserError(f"{path}: no such run or folder of runs")
        here = results_of(path)
        below = sorted(folder for folder in path.iterdir() if folder.is_dir())
        runs = {folder: results_of(folder) for folder in below}
        if here:
            found += here
            continue
        for folder, results in runs.items():
            found += results
            if not results and (folder / COMMAND).is_file():
                unfinished.append(folder)
        if not any(runs.values()):
            raise UserError(f"{path}: no finished run in it (FOLDER/{RESULT}, from dc-nmt score)")
    return found, unfinished


def collect(
    paths: Sequence[Path],
    baseline: str | None = None,
    metric: Metric | None = None,
    names: Mapping[str, str] | None = None,
    over_seeds: bool = False,
    speeds: Speeds | None = None,
    files: Sequence[Path] = (),
) -> RunTable:
    """Scores and tests finished runs.

    Args:
        paths: result files
        baseline: label of the baseline; default the first run of transformer_standard, else the
            first run
        metric: default the paper's where the baseline's result marks it, else 13a (Chinese: zh)
        names: folder's name → label
        over_seeds: one row for all runs whose labels differ only in ``-sSEED``
        speeds: a benchmark of the runs' models, used instead of the speeds in the logs
        files: hypotheses of other toolkits, on the same test set

    Raises:
        UserError: the runs are of different test sets, a row would be of runs with different
            settings, a name is unknown, or the benchmark is of none of the runs.
    """
    runs = [Run.read(path) for path in paths]
    by_label = dict(zip(_labels(runs, names or {}, over_seeds), runs, strict=True))
    if len(by_label) < len(runs):
        raise UserError("the same result twice: name it once")
    order = _baseline_first(by_label, baseline, over_seeds)
    for row, seeds in by_row(order, over_seeds).items():
        _check_one_system(row, {label: by_label[label] for label in seeds})
    names_of_files = dict(zip(labels(files), files, strict=True))
    paths = [by_label[label].path for label in order]
    systems = load_systems([*paths, *files], PlainTextOptions(), [*order, *names_of_files])
    metric = metric or default_metric(systems[0])
    runs_of = by_row(order, over_seeds)
    signature, compared = _compare(systems, metric, runs_of, over_seeds)
    first = by_label[order[0]].result
    others = {
        score.metric: score.signature
        for heading in ("BLEU lc", "chrF")
        if (score := first.score(*COLUMNS[heading])) and score.metric != metric.name
    }
    signatures = {metric.name: signature, **others}
    rows = [
        _file_row(names_of_files[c.name], c)
        if c.name in names_of_files
        else _row(
            [by_label[label] for label in runs_of[c.name]], c, metric.name, list(others), speeds
        )
        for c in compared
    ]
    if speeds and not any(_speeds_of(row) for row in rows):
        raise UserError(
            f"--speeds: has {', '.join(speeds.names)}, none of {', '.join(runs_of)}; "
            "dc-nmt bench RUN… --json measures runs"
        )
    where = speeds.where if speeds else None
    return RunTable(metric.name, signatures, first.sentences, rows, where)


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
    pooled = {
        name: {seed_of(label): texts[label] for label in labels} for name, labels in rows.items()
    }
    return signature, compare_systems(pooled, references, language, metric)


def _row(
    runs: Sequence[Run],
    comparison: Comparison,
    metric: str,
    others: Sequence[str],
    speeds: Speeds | None,
) -> RunRow:
    """Returns the row of a system: means over its runs, and the first run's common values."""
    run, results = runs[0], [run.result for run in runs]
    if speeds:
        training, decoding = (speeds.speed(mode, runs) for mode in (TRAINING, DECODING))
    else:
        training = _mean(each.train_tokens_per_second for each in results)
        decoding = _mean(each.decode_sentences_per_second for each in results)
    paper, result = published(run, metric), run.result
    if paper.metric and paper.score is not None:
        own = comparison.score  # by the table's metric: of the first recipes' results too
        ours = own if paper.metric == metric else _mean_score(results, paper.metric)
        paper = replace(paper, difference=None if ours is None else ours - paper.score)
    return RunRow(
        label=comparison.name,
        run=system_of(_relative(run.folder)) if len(runs) > 1 else _relative(run.folder),
        arch=run.arch,
        parameters=result.parameters,
        published_parameters=paper.parameters,
        updates=result.updates,
        train_tokens_per_second=training,
        decode_sentences_per_second=decoding,
        scores={name: round(mean, 4) for name in others if (mean := _mean_score(results, name))},
        published_score=paper.score,
        published_place=paper.place,
        published_metric=paper.metric,
        to_published=_rounded(paper.difference, 4),
        seeds=len(runs),
        **_tested(comparison),
    )


def _file_row(file: Path, comparison: Comparison) -> RunRow:
    """Returns the row of hypotheses of which nothing else is known."""
    return RunRow(
        label=comparison.name,
        run=_relative(file),
        arch=None,
        parameters=None,
        published_parameters=None,
        updates=None,
        train_tokens_per_second=None,
        decode_sentences_per_second=None,
        scores={},
        published_score=None,
        published_place=None,
        published_metric=None,
        to_published=None,
        seeds=1,
        **_tested(comparison),
    )


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


def _mean_score(results: Sequence[Result], metric: str) -> float | None:
    found = (each.score(metric) for each in results)
    return _mean(score.score if score else None for score in found)


def _check_one_system(row: str, runs: Mapping[str, Run]) -> None:
    """
    Raises:
        UserError: runs whose labels differ in the seed alone were trained with other settings
    """
    settings = {label: run.settings() for label, run in runs.items()}
    (first, ours), *others = settings.items()
    for label, theirs in others:
        for name in sorted({*ours, *theirs}):
            one, other = (values.get(name, "not given") for values in (ours, theirs))
            if one != other and not (name == TOKENS and _nearly(one, other)):
                raise UserError(
                    f"--over-seeds: {row} would be a mean of different settings: {name} is {one} "
                    f"in {first} and {other} in {label}; leave one out, or --name FOLDER=LABEL"
                )


def _nearly(one: str, other: str) -> bool:
    """Returns True if tokens per update differ by less than 2%, as over other numbers of GPUs."""
    numbers = [float(text.replace(",", "")) for text in (one, other) if text[:1].isdecimal()]
    return len(numbers) == 2 and math.isclose(*numbers, rel_tol=0.02)


def _labels(runs: Sequence[Run], names: Mapping[str, str], over_seeds: bool) -> list[str]:
    folders = list(dict.fromkeys(run.folder for run in runs))
    check_choices("--name", names, [folder.name for folder in folders])
    unique = dict(zip(folders, labels(folders), strict=True))
    if over_seeds:  # with a repeated seed, no run of the system may look like a third system
        depths: dict[str, int] = {}
        for folder in folders:
            system = system_of(folder.name)
            depths[system] = max(depths.get(system, 0), unique[folder].count("/"))
        unique = {f: "/".join(f.parts[-1 - depths[system_of(f.name)] :]) for f in folders}
    found = []
    for run in runs:
        ways = [f"decoder {run.decode_with}"] if run.decode_with else []
        ways = ways or ([run.decoding] if run.decoding else [])
        found.append(", ".join([names.get(run.folder.name, unique[run.folder]), *ways]))
    # for example, the evaluation's name distinguishes two masks of one decoder
    return [
        f"{label}, {run.decoding}" if found.count(label) > 1 and run.decoding else label
        for label, run in zip(found, runs, strict=True)
    ]


def _baseline_first(
    by_label: Mapping[str, Run], baseline: str | None, over_seeds: bool
) -> list[str]:
    rows = by_row(by_label, over_seeds)
    if baseline:
        check_choices("--baseline", [baseline], rows)
    plain = [
        name
        for name, labels in rows.items()
        if (by_label[labels[0]].arch or "").startswith(BASELINE_ARCH)
    ]
    first = baseline or next(iter([*plain, *rows]))
    return [*rows[first], *(label for label in by_label if label not in rows[first])]


def _relative(folder: Path) -> str:
    """Returns the folder relative to the working folder, or its name: no path of this machine."""
    path = Path(os.path.relpath(folder))
    return folder.name if ".." in path.parts else path.as_posix()
