"""Makes the table of finished runs on one test set: scores, tests, speeds, published numbers.

``runs/finding.py`` reads the records of runs. :func:`collect` groups the runs, scores and tests
each group, and makes a row of it (``rows.py``). ``table_text.py`` prints the table.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ...errors import UsageError, check_choices
from ...flags import START, setting_name
from ...modules.mechanisms import CHOOSING
from ...runs.record import Score
from ..finding import Run
from .conditions import (
    all_differences,
    check_same_settings,
    different_conditions,
    different_settings,
    is_other_seed,
)
from .evidence import check_are_runs, parameters_in_checkpoint, scored_again
from .metrics import METRICS, Metric
from .rows import (
    BaselineTest,
    MeasuredScore,
    PublishedScore,
    ResultRow,
    Results,
    ResultTable,
    RunOrigin,
    SystemFacts,
)
from .significance import Comparison
from .systems import (
    ComparedSystem,
    PlainTextOptions,
    default_metric,
    labelled,
    load_systems,
    recorded_scores,
    score_and_test,
    table_labels,
)
from .table_text import FURTHER
from .texts import lines_digest

BASELINE_ARCH = "transformer_standard"
LEAST_SECONDS = 3.0  # of training or decoding; the speed of less work is chance

# the runs of each row: label → seed → run; without --over-seeds the seed is ""
Groups = dict[str, dict[str, Run]]
# a run, and the table's metric → its published score
FindPublished = Callable[[Run, str], PublishedScore]


def collect(
    runs: Sequence[Run],
    baseline: str | None = None,
    metric: Metric | None = None,
    over_seeds: bool = False,
    find_published: FindPublished = lambda run, metric: PublishedScore(),
    with_text: bool = True,
) -> Results:
    """Scores and tests finished runs.

    Args:
        runs: with their translations
        baseline: label of the baseline; default the first run of transformer_standard, else the
            first run
        metric: default the paper's where the baseline's record marks it, else 13a (Chinese: zh)
        over_seeds: one row for all runs of one system
        find_published: finds the published score of a run
        with_text: False for runs whose test set is not here: scores as recorded, without tests

    Raises:
        MissingText: the test set is not here
        UserError: the runs are of different test sets, a row would be of runs with different
            settings, or no row has the label
    """
    groups = _group(runs, over_seeds)
    first = _baseline(groups, baseline)
    groups = {first: groups[first], **groups}  # the baseline is the first row
    for label, group in groups.items():
        check_same_settings(label, group.values())
    baseline_run = next(iter(groups[first].values()))
    systems = _load(groups) if with_text else {}
    for label, group in groups.items():
        check_are_runs(label, group, systems.get(label, {}))
    if with_text:
        baseline_system = next(iter(systems[first].values()))
        metric = metric or default_metric(baseline_system)
        references = baseline_system.texts.raw.references
        sentences, digest = len(references), lines_digest(references)
        signature, tested = score_and_test(systems, metric)
    else:
        marked_first = sorted(baseline_run.decoding.scores, key=lambda score: not score.paper)
        metric = metric or METRICS[marked_first[0].metric]
        sentences, digest = baseline_run.decoding.sentences or 0, None
        signature, tested = recorded_scores(groups, metric)
    signatures = {metric.name: signature}
    results = Results(ResultTable(metric.name, signatures, sentences, [], digest), {}, [])
    for (label, group), comparison in zip(groups.items(), tested, strict=True):
        row_runs, seeds = list(group.values()), systems.get(label, {})
        row_systems = list(seeds.values())
        score = _measured(comparison, row_systems, metric, signatures)
        published = find_published(row_runs[0], metric.name)
        results.runs[label] = row_runs
        results.systems.extend(row_systems[:1])
        results.table.rows.append(
            ResultRow(
                system=facts_of(label, row_runs, baseline_run),
                score=score,
                test=_test(comparison, row_runs[0], baseline_run, named=bool(baseline)),
                published=_with_gap(published, score, row_systems, metric),
                runs=tuple(_origin(run, seeds.get(seed), metric) for seed, run in group.items()),
            )
        )
    return results


def _load(groups: Groups) -> dict[str, dict[str, ComparedSystem]]:
    """Reads the text of all runs."""
    runs = [run for group in groups.values() for run in group.values()]
    rest = iter(load_systems(runs, PlainTextOptions()))
    return {label: {seed: next(rest) for seed in group} for label, group in groups.items()}


# -- from runs to groups -----------------------------------------------------------------------


def _group(runs: Sequence[Run], over_seeds: bool) -> Groups:
    """Groups runs into rows: each run alone, or the runs of one system in one folder."""
    run_labels = table_labels(runs)
    if not over_seeds:
        return {label: {"": run} for label, run in zip(run_labels, runs, strict=True)}
    # runs of equal names in two folders are two systems, and so are two translations of a run
    systems: dict[tuple[Path, str, str], dict[str, Run]] = {}
    for run in runs:
        group = systems.setdefault((run.location.parent, _system(run), run.decoding.key), {})
        seed = "" if run.record.seed is None else str(run.record.seed)
        if seed in group:
            both = f"{group[seed].location.name} and {run.location.name}"
            raise UsageError(f"--over-seeds: {both} have the same seed; leave one out")
        group[seed] = run
    row_labels = labelled(
        names=[system for _, system, _ in systems],
        paths=[folder / system for folder, system, _ in systems],
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
        if plain and not any(setting_name(flag) in CHOOSING for flag in record.settings):
            return name
    return next(iter(groups))


# -- from groups to rows -----------------------------------------------------------------------


def facts_of(label: str, runs: Sequence[Run], baseline: Run) -> SystemFacts:
    """Returns what the runs of a row have in common, and means of their speeds.

    `baseline` is the first run of the baseline.
    """
    first = runs[0]
    counted = [parameters_in_checkpoint(run) for run in runs]
    training_speed, decoding_speed = _speeds(runs, baseline)
    members = first.decoding.ensemble
    sizes = [counted[0] or first.record.training.parameters, *(each.parameters for each in members)]
    archs = [first.record.architecture, *(each.architecture for each in members)]
    return SystemFacts(
        label=label,
        run=_relative(first.folder if len(runs) == 1 else first.folder.parent / _system(first)),
        arch=" + ".join(map(str, archs)) if members else archs[0],
        parameters=None if None in sizes else sum(filter(None, sizes)),
        parameters_counted=None not in counted and not members,
        updates=None if members else first.updates,
        start=str(first.record.settings.get(START) or "") or None,
        seeds=len(runs),
        train_tokens_per_second=training_speed,
        decode_sentences_per_second=decoding_speed,
    )


def _speeds(runs: Sequence[Run], baseline: Run) -> tuple[float | None, float | None]:
    """Returns the mean speeds of training and of decoding.

    A speed is None where the device is known to be another one than that of the baseline, and where
    the work took less than LEAST_SECONDS. An ensemble has no speed of training.
    """
    training_speeds, decoding_speeds = [], []
    for run in runs:
        training = run.record.training
        is_single = not run.decoding.ensemble
        if is_single and _may_be_equal(training.device, baseline.record.training.device):
            training_speeds.append((training.tokens_per_second, training.seconds))
        if _may_be_equal(_decoding_device(run), _decoding_device(baseline)):
            speed, sentences = run.decoding.sentences_per_second, run.decoding.sentences
            decoding_speeds.append((speed, sentences / speed if sentences and speed else None))
    return _mean_speed(training_speeds), _mean_speed(decoding_speeds)


def _origin(run: Run, system: ComparedSystem | None, metric: Metric) -> RunOrigin:
    hypotheses, score = run.decoding.hypotheses_sha256 or "", run.decoding.score(metric.name)
    if system:
        hypotheses = lines_digest(system.texts.translated(run.decoding.kind))
        score = system.score(metric)
    return RunOrigin(
        name=run.record.name,
        training_text=run.record.data.text,
        hypotheses=hypotheses,
        starts=run.record.starts,
        translated=run.decoding.translated,
        scored=run.decoding.scored,
        score=score.value if score else None,
    )


def _measured(
    comparison: Comparison,
    systems: Sequence[ComparedSystem],
    metric: Metric,
    signatures: dict[str, str],
) -> MeasuredScore:
    """Returns the scores of the hypotheses as they are now; adds signatures of other metrics.

    Raises:
        UserError: a score in a record is of other hypotheses
    """
    _scored_again(systems, metric.name)  # the record may have another score
    further = {}
    for name in FURTHER:
        scores = _scored_again(systems, name) if name != metric.name else []
        if scores:
            further[name] = statistics.fmean(score.value for score in scores)
            signatures.setdefault(name, scores[0].signature)
    return MeasuredScore(
        value=comparison.score,
        deviation=comparison.deviation,
        further=further,
        repeated=max((system.texts.repeated for system in systems), default=0),
    )


def _scored_again(systems: Sequence[ComparedSystem], metric: str) -> list[Score]:
    """Returns the score of each run's hypotheses; [] where a record has no such score."""
    scores = [score for system in systems if (score := scored_again(system, metric))]
    return scores if len(scores) == len(systems) else []


def _test(comparison: Comparison, run: Run, baseline: Run, *, named: bool) -> BaselineTest:
    """Returns the test of a row; one that differs in more than the model has no corrected p.

    Args:
        comparison: of the row
        run, baseline: the first runs of the row and of the baseline
        named: somebody who names a baseline wants the test, whatever differs
    """
    conditions, settings = different_conditions(run, baseline), different_settings(run, baseline)
    if named or comparison.corrected_p is None:
        conditions, settings = "", all_differences(run, baseline)
    other_seed = is_other_seed(run, baseline)
    return BaselineTest(
        difference=comparison.difference,
        compared_seeds=None if comparison.seeds is None else list(comparison.seeds),
        against=comparison.against,
        corrected_p=None if conditions or other_seed else comparison.corrected_p,
        differs=conditions,
        settings=settings,
        other_seed=other_seed,
    )


def _with_gap(
    published: PublishedScore,
    score: MeasuredScore,
    systems: Sequence[ComparedSystem],
    metric: Metric,
) -> PublishedScore:
    """Returns the published score with the difference of the runs' score by its metric to it."""
    if published.metric is None or published.score is None:
        return published
    measured = score.value
    if published.metric != metric.name:
        scores = _scored_again(systems, published.metric)
        if not scores:
            return published
        measured = statistics.fmean(score.value for score in scores)
    return replace(published, to_published=measured - published.score)


def _mean_speed(measured: Sequence[tuple[float | None, float | None]]) -> float | None:
    """Returns the mean of speeds that were measured over enough seconds, or over unknown ones."""
    speeds = []
    for speed, seconds in measured:
        if speed is not None and (seconds is None or seconds >= LEAST_SECONDS):
            speeds.append(speed)
    return statistics.fmean(speeds) if speeds else None


def _decoding_device(run: Run) -> str | None:
    return run.decoding.device or run.record.training.device


def _may_be_equal(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other


def _relative(folder: Path) -> str:
    """Returns the folder relative to the working folder, or its name: no path of this machine."""
    path = Path(os.path.relpath(folder))
    return folder.name if ".." in path.parts else path.as_posix()
