"""Finished runs: found in folders, scored and tested together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import UserError, choice_problem
from .metrics import Metric
from .published import published
from .results import COLUMNS, RESULT
from .run import Run
from .run_table import RunRow, RunTable
from .significance import Comparison, paired_bootstrap
from .systems import PlainTextOptions, System, default_metric, labels, load_systems

BASELINE_ARCH = "transformer_standard"


def find_runs(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Result files of runs and of folders of runs, and the runs that have none yet.

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
        here = _results_of(path)
        below = sorted(folder for folder in path.iterdir() if folder.is_dir())
        runs = {folder: _results_of(folder) for folder in below}
        if here:
            found += here
            continue
        for folder, results in runs.items():
            found += results
            if not results and (folder / "command.txt").is_file():
                unfinished.append(folder)
        if not any(runs.values()):
            raise UserError(f"{path}: no finished run in it (FOLDER/{RESULT}, from dc-nmt score)")
    return found, unfinished


def collect(
    paths: Sequence[Path],
    baseline: str | None = None,
    metric: Metric | None = None,
    names: Mapping[str, str] | None = None,
) -> RunTable:
    """Score and test finished runs.

    Args:
        paths: result files
        baseline: label of the baseline; default the first run of transformer_standard, else the
            first run
        metric: default the paper's where the baseline's result marks it, else 13a (Chinese: zh)
        names: folder's name → label

    Raises:
        UserError: the runs are of different test sets, or a name is unknown.
    """
    runs = [Run.read(path) for path in paths]
    by_label = dict(zip(_labels(runs, names or {}), runs, strict=True))
    if len(by_label) < len(runs):
        raise UserError("the same result twice: name it once")
    order = _baseline_first(by_label, baseline)
    systems = load_systems([by_label[label].path for label in order], PlainTextOptions(), order)
    metric = metric or default_metric(systems[0])
    signature, compared = _compare(systems, metric)
    first = by_label[order[0]].result
    others = {
        score.metric: score.signature
        for heading in ("BLEU lc", "chrF")
        if (score := first.score(*COLUMNS[heading])) and score.metric != metric.name
    }
    signatures = {metric.name: signature, **others}
    rows = [_row(by_label[c.name], c, metric.name, list(others)) for c in compared]
    return RunTable(metric.name, signatures, first.sentences, rows)


def _compare(systems: Sequence[System], metric: Metric) -> tuple[str, list[Comparison]]:
    """Signature and scores, tested where there are several systems."""
    sides = {system.label: system.texts.sides(metric) for system in systems}
    texts = {label: side.hypotheses for label, side in sides.items()}
    baseline, language = systems[0].label, systems[0].target_lang
    references = sides[baseline].references
    score, signature = metric.score(texts[baseline], references, language)
    if len(systems) == 1:
        return signature, [Comparison(baseline, score, 0.0)]
    return signature, paired_bootstrap(texts, references, language, metric)


def _row(run: Run, comparison: Comparison, metric: str, others: Sequence[str]) -> RunRow:
    paper = published(run, metric)
    result = run.result
    if paper.metric == metric and paper.score is not None:  # results of the first recipes too
        paper = replace(paper, difference=comparison.score - paper.score)
    return RunRow(
        label=comparison.name,
        run=_relative(run.folder),
        arch=run.arch,
        parameters=result.parameters,
        published_parameters=paper.parameters,
        updates=result.updates,
        train_tokens_per_second=result.train_tokens_per_second,
        decode_sentences_per_second=result.decode_sentences_per_second,
        # no more digits than say something: the stored file is the same on every machine
        score=round(comparison.score, 4),
        scores={name: round(score.score, 4) for name in others if (score := result.score(name))},
        difference=None if comparison.difference is None else round(comparison.difference, 4),
        p_value=None if comparison.p_value is None else round(comparison.p_value, 6),
        published_score=paper.score,
        published_place=paper.place,
        published_metric=paper.metric,
        to_published=None if paper.difference is None else round(paper.difference, 4),
    )


def _results_of(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{RESULT.parent}*/{RESULT.name}"))


def _labels(runs: Sequence[Run], names: Mapping[str, str]) -> list[str]:
    folders = list(dict.fromkeys(run.folder for run in runs))
    problems = [choice_problem("--name", name, [f.name for f in folders]) for name in names]
    if any(problems):
        raise UserError("\n".join(problem for problem in problems if problem))
    unique = dict(zip(folders, labels(folders), strict=True))
    found = []
    for run in runs:
        ways = [f"decoder {run.decode_with}"] if run.decode_with else []
        ways = ways or ([run.decoding] if run.decoding else [])
        found.append(", ".join([names.get(run.folder.name, unique[run.folder]), *ways]))
    # two masks of one decoder, say, are told apart by what the evaluation called them
    return [
        f"{label}, {run.decoding}" if found.count(label) > 1 and run.decoding else label
        for label, run in zip(found, runs, strict=True)
    ]


def _baseline_first(by_label: Mapping[str, Run], baseline: str | None) -> list[str]:
    problem = choice_problem("--baseline", baseline, by_label) if baseline else None
    if problem:
        raise UserError(problem)
    plain = [label for label, run in by_label.items() if (run.arch or "").startswith(BASELINE_ARCH)]
    first = baseline or next(iter([*plain, *by_label]))
    return [first, *(label for label in by_label if label != first)]


def _relative(folder: Path) -> str:
    """The folder from the working folder on, or its name alone: no path of this machine."""
    path = Path(os.path.relpath(folder))
    return folder.name if ".." in path.parts else path.as_posix()
