"""Published numbers of a finished run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..flags import as_flags
from ..papers.register import read_register, task_named
from ..papers.schema import Entry
from ..runs.finding import Run

if TYPE_CHECKING:
    from ..papers.described_run import DescribedRun

NEAREST = 3


@dataclass(frozen=True)
class Published:
    """The published numbers of a run; None if there are none.

    Attributes:
        parameters: count
        score, place: by `metric`, and where it is printed
        metric: of the score: the table's, else the one that the paper has and the run was scored by
        difference: measured score by the same metric minus the published one
    """

    parameters: int | None = None
    score: float | None = None
    place: str | None = None
    metric: str | None = None
    difference: float | None = None


def describe(run: Run) -> DescribedRun | None:
    """Returns the settings of a run; None if its task, settings or architecture is unknown."""
    record = run.record
    task = task_named(record.task or "")
    if task is None or not record.settings or record.architecture is None:
        return None
    from ..models.presets import architectures
    from ..papers.described_run import DescribedRun

    if record.architecture not in architectures():  # stock fairseq's: no paper has its numbers
        return None
    train, generate = as_flags(record.settings), as_flags(run.decoding.search)
    return DescribedRun.of_commands(*task, train, generate, subset=run.decoding.subset)


def published(run: Run, metric: str) -> Published:
    """Returns the published numbers with the settings of a run, if there are any.

    Args:
        metric: the table's; for a paper with another metric, the run's score by that metric is used
    """
    described = describe(run)
    if described is None:
        return Published()
    from ..papers.matching import published_for, subtract

    entries = _entries()
    counts = published_for(described, "params", entries)
    parameters = round(float(counts[0].value or 0) * 1_000_000) if counts else None
    ours = {score.metric: score.value for score in run.decoding.scores}
    for name in dict.fromkeys([metric, *ours]):
        found = published_for(described, name, entries)
        if found:
            first = found[0]
            gap = subtract(ours[name], name, first) if name in ours else None
            return Published(
                parameters,
                float(first.value or 0),
                _places(found),
                name,
                None if gap is None else float(gap),
            )
    return Published(parameters)


def why_not(run: Run, metric: str) -> list[str]:
    """Returns a line for each of the nearest published numbers, with the differing settings."""
    described = describe(run)
    if described is None:
        return [
            f"{run.path}: its task is not one of the papers, it has no settings of a training "
            "run, or its architecture is not in the papers: nothing to compare"
        ]
    from ..papers.matching import nearest

    return [
        f"{entry.value} {entry.measure} ({entry.place}): "
        + ("; ".join(map(str, differences)) or "it is of this run")
        for entry, differences in nearest(described, metric, _entries(), NEAREST)
    ]


def _entries() -> list[Entry]:
    return [entry for document in read_register() for entry in document.entries]


def _places(entries: list[Entry]) -> str:
    """Returns where a number is printed, with other printed values of the same number."""
    first = entries[0]
    same = dict.fromkeys(f"{e.document}, {e.item}" for e in entries if e.value == first.value)
    other = dict.fromkeys(f"{e.item} has {e.value}" for e in entries if e.value != first.value)
    return "; ".join([*same, *other])
