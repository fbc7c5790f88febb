"""Published numbers of a finished run."""

from __future__ import annotations

from dataclasses import dataclass

from ..runs.finding import Run


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


def published(run: Run, metric: str) -> Published:
    """Returns the published numbers with the settings of a run, if there are any.

    Args:
        metric: the table's; for a paper with another metric, the run's score by that metric is used
    """
    from ..papers.published import published_number

    record, decoding = run.record, run.decoding
    task, arch = record.task or "", record.architecture or ""
    counted = published_number(task, arch, "params", record.settings)
    parameters = None
    if counted and not counted.differs:
        parameters = round(float(counted.value) * 1_000_000)
    ours = {score.metric: score.value for score in decoding.scores}
    for name in dict.fromkeys([metric, *ours]):
        found = published_number(
            task, arch, name, record.settings, decoding.search, decoding.subset
        )
        if found and not found.differs:
            value = float(found.value)
            gap = ours[name] - value if name in ours else None
            return Published(parameters, value, found.place, name, gap)
    return Published(parameters)


def why_not(run: Run, metric: str) -> list[str]:
    """Returns a line for the nearest published number, with the differing settings."""
    from ..papers.published import published_number

    record, decoding = run.record, run.decoding
    found = published_number(
        record.task or "", record.architecture or "", metric, record.settings, decoding.search,
        decoding.subset,
    )  # fmt: skip
    if found is None:
        return [f"{run.path}: the papers have no number of this task, architecture and metric"]
    return [f"{found.value} {metric} ({found.place}): {found.differs or 'it is of this run'}"]
