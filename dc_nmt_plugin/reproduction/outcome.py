"""Checks by rule that the jobs of a plan end in what a part of a table or figure shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from ..evaluation.metrics import METRICS, default_metrics
from ..flags import flag_value
from ..papers.schema import SCORES, Entry, Item, Part
from .analyses import source_lengths
from .jobs import Job
from .producers import COMMANDS, POINT, analysis_of
from .system import NeededDecoding, decoding


def lacking(item: Item, part: Part, entries: Sequence[Entry], jobs: Sequence[Job]) -> str:
    """Returns what a part shows and the jobs of its plan do not make; "" if they make all.

    Args:
        entries: that the part shows, of this project's systems
    """
    if part.by not in COMMANDS:
        return f"{part.by} is made by no command"
    if not entries:
        return "no number or picture of it is described"
    rule = _RULES.get(part.by, _analysed if analysis_of(part.by) else None)
    if rule is None:
        return f"nothing is known of what {COMMANDS[part.by]} shows"
    return next(filter(None, rule(item, part, entries, jobs)), "")


Rule = Callable[[Item, Part, Sequence[Entry], Sequence[Job]], Iterable[str]]


def _scored(item: Item, part: Part, entries: Sequence[Entry], jobs: Sequence[Job]) -> Iterable[str]:
    """A score or speed: the run is trained, and its translation of that set has that metric."""
    for entry in entries:
        way = decoding(entry)
        if not any(_evaluates(job, way, jobs) for job in jobs):
            yield f"{entry.row}: {way.training.arch} is not evaluated on {way.subset}"
        if entry.measure in SCORES and entry.measure not in _metrics(way):
            yield f"{entry.row}: the evaluation does not score {entry.measure}"


def _evaluates(job: Job, way: NeededDecoding, jobs: Sequence[Job]) -> bool:
    words = list(job.words)
    if words[:3] != ["evaluate", way.training.task, way.training.arch]:
        return False
    subset, name = flag_value(words, "--subset") or "test", flag_value(words, "--as") or ""
    trained = jobs[job.after[0]]
    flags = list(way.training.flags)
    same = (subset, name) == (way.subset, way.name) and words[len(words) - len(way.flags) :] == [
        *way.flags
    ]
    return (
        same
        and flag_value(words, "--like") == way.training.like
        and trained.words[:3] == ("train", way.training.task, way.training.arch)
        and list(trained.words[len(trained.words) - len(flags) :]) == flags
    )


def _metrics(way: NeededDecoding) -> Collection[str]:
    """Returns the metrics of the scores of a run."""
    run = way.run(1, None, None)
    given = flag_value(run.score, "--metrics")
    names = given.split(",") if given else default_metrics(run.target, tokenized=True)
    paper = flag_value(run.score, "--paper")
    return {*names, *([paper] if paper else [])}


def _compared(
    item: Item, part: Part, entries: Sequence[Entry], jobs: Sequence[Job]
) -> Iterable[str]:
    """Significance in the table: every system and its baseline have a score."""
    for entry in entries:
        if not entry.against:
            yield f"{entry.row}: nothing says what it is compared with"
    yield from _scored(item, part, entries, jobs)


def _tested(item: Item, part: Part, entries: Sequence[Entry], jobs: Sequence[Job]) -> Iterable[str]:
    """A t-test: a command tests the runs of each column in the printed metric."""
    yield from _compared(item, part, entries, jobs)
    for column, measure in dict.fromkeys((entry.column, entry.measure) for entry in entries):
        if not any(
            job.words[0] == "compare"
            and "--t-test" in job.words
            and flag_value(job.words, "--metric") == measure
            and job.output is not None
            and column in job.output.name
            for job in jobs
        ):
            yield f"{column}: no t-test of {measure}"


def _drawn(item: Item, part: Part, entries: Sequence[Entry], jobs: Sequence[Job]) -> Iterable[str]:
    """A curve: its points are scores, at values of one setting."""
    points = [entry.row for entry in entries if POINT.fullmatch(entry.row)]
    others = {entry.row for entry in entries} - {*points, *item.origin}
    if not points or others:
        yield f"not points of a curve: {', '.join(sorted(others)) or 'all'}"
    yield from _scored(item, part, entries, jobs)


def _analysed(
    item: Item, part: Part, entries: Sequence[Entry], jobs: Sequence[Job]
) -> Iterable[str]:
    """An analysis: of all these runs, on that set, with the published options and groups."""
    what = analysis_of(part.by)
    yield from _of_runs(("analyze", what), item, entries, jobs)
    job = next((job for job in jobs if job.words[:2] == ("analyze", what)), None)
    if job is None:
        return
    if part.by == "parseval" and "--trees" not in job.words:
        yield "ParsEval without trees"
    if part.by == "lengths":
        yield from _groups(item, job)
        measure = entries[0].measure
        if not METRICS[measure].tokenized and "--reference" not in job.words:
            yield f"groups are not scored by {measure}"


def _of_runs(
    command: tuple[str, ...], item: Item, entries: Sequence[Entry], jobs: Sequence[Job]
) -> Iterable[str]:
    own = [job for job in jobs if job.words[: len(command)] == command]
    if not own:
        yield f"nothing calls dc-nmt {' '.join(command)}"
    for job in own[:1]:
        for entry in entries:
            way = decoding(entry)
            if str(way.run(1, None, None).folder) not in job.words:
                yield f"{entry.row}: its run is not in dc-nmt {' '.join(command)}"
            if (flag_value(job.words, "--subset") or "test") != way.subset:
                yield f"{entry.row}: not of {way.subset}"
        for name, value in item.analysis.items():
            if flag_value(job.words, f"--{name}") != value:
                yield f"dc-nmt {' '.join(command)} without --{name} {value}"


def _groups(item: Item, job: Job) -> Iterable[str]:
    """Groups of lengths are those of the columns, in the printed unit."""
    if flag_value(job.words, "--unit") not in ("words", "pieces"):
        yield "the unit of the lengths is not said"
    edges = flag_value(job.words, "--edges")
    if edges is None and flag_value(job.words, "--groups") is None:
        yield "neither groups nor their number are said"
    if edges is not None and list(map(int, edges.split(","))) != edges_of(item.columns):
        yield f"groups {edges} are not {', '.join(item.columns)}"


def edges_of(columns: Sequence[str]) -> list[int]:
    """Returns the first length of each group, from columns such as <10, 10-20, 20-30, >30.

    Groups are equally wide, so that the open one begins where another one would.
    """
    starts = [int(match[1]) for name in columns if (match := re.fullmatch(r"(\d+)-\d+", name))]
    if len(starts) < 2:
        return []
    edges = [*starts, 2 * starts[-1] - starts[-2]]
    return edges if columns[0].startswith("<") else edges[1:]


def _counted(
    item: Item, part: Part, entries: Sequence[Entry], jobs: Sequence[Job]
) -> Iterable[str]:
    """Numbers of source sentences: of the prepared text, in the printed groups, without a model."""
    if any(job.kind == "training" for job in jobs):
        yield "a model is trained to count source sentences"
    for entry in entries:
        edges, way = source_lengths(item, entry), decoding(entry)
        run = way.run(1, None, None)
        name = f"{run.split}.{run.source}"
        folder = "bpe" if item.analysis["unit"] == "pieces" else "tokenised"
        if not any(
            job.words[:3] == ("check-text", "--lengths", edges)
            and job.words[3].endswith(f"/{name}")
            and folder in job.words[3]
            for job in jobs
        ):
            yield f"{entry.row}: its lines of {name} are not counted in groups from {edges}"


def _translated(
    item: Item, part: Part, entries: Sequence[Entry], jobs: Sequence[Job]
) -> Iterable[str]:
    """Sample translations: each decoder translates the printed sentences."""
    if not item.sources:
        yield "the source sentences are not in the register"
    for entry in entries:
        way = decoding(entry)
        folder = str(way.run(1, None, None).folder)
        if not any(
            job.words[:2] == ("translate", folder)
            and all(source in job.words for source in item.sources)
            and (flag_value(job.words, "--decode-with") or "main") == entry.part
            for job in jobs
        ):
            yield f"{entry.row}: its sentences are not translated"


def _sized(item: Item, part: Part, entries: Sequence[Entry], jobs: Sequence[Job]) -> Iterable[str]:
    """Parameter counts: the table's models are built."""
    if not any(job.words == ("params", "--item", item.full_name) for job in jobs):
        yield "its models are not counted"


_RULES: dict[str, Rule] = {
    "score": _scored,
    "bench": _scored,
    "source-layers": _scored,
    "compare": _compared,
    "t-test": _tested,
    "plot": _drawn,
    "source-lengths": _counted,
    "examples": _translated,
    "params": _sized,
    "probing": lambda item, part, entries, jobs: _of_runs(("probe",), item, entries, jobs),
}
