"""The cost of training runs in the words of ``dc-nmt paper``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..table import format_table

if TYPE_CHECKING:
    from ..papers.schema import Item
    from ..reproduction.costs import Cost
    from ..reproduction.jobs import Job

COLUMNS = ("runs", "updates", "tokens", "parameters", "disk", "CPU hours", "GPU hours")
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def cells(cost: Cost) -> tuple[str, ...]:
    """Returns the cells of :data:`COLUMNS`; empty without a run."""
    if not cost.runs:
        return ("",) * len(COLUMNS)
    return (
        str(cost.runs), short(cost.updates), short(cost.tokens), short(cost.parameters),
        f"{short(cost.disk)}B", hours(cost.cpu_hours), hours(cost.gpu_hours),
    )  # fmt: skip


def sentence(cost: Cost) -> str:
    """Returns a cost in one line."""
    runs, updates, tokens, parameters, disk, cpu, gpu = cells(cost)
    several = "runs" if cost.runs > 1 else "run"
    size = f"up to {parameters}" if cost.runs > 1 else parameters
    return (
        f"{runs} training {several}, {updates} updates, {tokens} tokens, {size} parameters, "
        f"{disk} on disk; {cpu} CPU hours or {gpu} GPU hours"
    )


def note() -> str:
    """Returns the line that says which hours are meant."""
    from ..reproduction.costs import rates

    known = rates()
    peak = f"{known.gpu_peak / 1e12:.0f} TFLOP/s"
    return (
        f"hours: estimated, of training; CPU: {known.cpu}, by its measured rate; GPU: {known.gpu}, "
        f"assumed to use {known.gpu_share:.0%} of {peak}"
    )


def of_rows(item: Item) -> str:
    """Returns a table of what every row of an item costs; empty where nothing is trained."""
    from ..reproduction.costs import cost_of_runs
    from ..reproduction.item_costs import trainings_of

    rows = [(part.name, *cells(cost_of_runs(trainings_of(item, part)))) for part in item.parts]
    return format_table(("to train", *COLUMNS), rows) if any(row[1] for row in rows) else ""


def of_jobs(jobs: Iterable[Job]) -> list[str]:
    """Returns lines with the cost of a plan; none where nothing is trained, or only a sample."""
    from ..reproduction.costs import Cost

    cost = sum((job.cost for job in jobs if job.cost), Cost())
    return [sentence(cost), note()] if cost.runs else []


def short(number: float) -> str:
    """Returns a number with three digits, such as 13.1G."""
    for size, unit in _UNITS:
        if number >= size:
            value = number / size
            return f"{value:.{max(0, 2 - len(str(int(value))) + 1)}f}{unit}"
    return str(round(number))


def hours(number: float) -> str:
    """Returns hours with two digits where there are few."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"
