"""Measured beside published numbers of the cells of a table or figure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ...laboratory.finding import Run
from ...laboratory.recipes.done import is_trained
from ...runs.record import RECORD, read_record
from .document import SCORES, Entry, Item
from .published import differing_settings
from .selection import NEEDED, baseline, entries_of, of_runs
from .systems import translation_of

SPEEDS = ("train-steps", "decode-sentences", "decode-tokens")
_WHOLE = 0.99  # least share of updates in the log of a finished run: not every update is logged


@dataclass(frozen=True)
class ComparedNumber:
    """One published number of an item, and the measured one."""

    row: str  # of the entry, as column and measure
    column: str
    measure: str
    published: str | None = None  # as printed; None where it is not
    published_difference: str | None = None
    published_p: str | None = None
    ours: tuple[float, ...] = ()  # one number for each seed whose run is finished and scored
    difference: float | None = None  # mean difference to the baseline over the seeds that both have
    # settings of the runs that differ from those of the published number
    other_settings: tuple[str, ...] = ()
    other_settings_against: tuple[str, ...] = ()  # the same for the baseline

    @property
    def gap(self) -> float | None:
        """Returns the measured mean minus the published number; None if they are not comparable.

        Speeds depend on the machine, so they are never comparable.
        """
        if self.published is None or self.mean is None:
            return None
        if self.other_settings or self.measure in SPEEDS:
            return None
        return self.mean - float(self.published)

    @property
    def mean(self) -> float | None:
        return statistics.fmean(self.ours) if self.ours else None

    @property
    def deviation(self) -> float | None:
        """Returns the standard deviation of the seeds; None for fewer than two."""
        return statistics.stdev(self.ours) if len(self.ours) > 1 else None


def compared_numbers(item: Item, rows: Sequence[str], seeds: Sequence[int]) -> list[ComparedNumber]:
    """Returns every number of an item that runs can give, in its order; none for analyses alone.

    Raises:
        UserError: no such row, or nothing of the item can be run
    """
    # a finished run counts, whatever its text was
    entries = [entry for entry in entries_of(item, rows, NEEDED) if of_runs(entry)]
    return [_cell(entry, seeds) for entry in entries]


def _cell(entry: Entry, seeds: Sequence[int]) -> ComparedNumber:
    ours, differing = _measured(entry, seeds)
    base, differing_against = _measured(baseline(entry), seeds)
    differences = [ours[seed] - base[seed] for seed in ours if seed in base]
    return ComparedNumber(
        row=entry.row,
        column=entry.column,
        measure=entry.measure,
        published=None if entry.value is None else str(entry.value),
        published_difference=None if entry.difference is None else f"{entry.difference:+}",
        published_p=None if entry.p is None else str(entry.p),
        ours=tuple(ours.values()),
        difference=statistics.fmean(differences) if differences else None,
        other_settings=differing,
        other_settings_against=differing_against,
    )


def _measured(
    entry: Entry | None, seeds: Sequence[int]
) -> tuple[dict[int, float], tuple[str, ...]]:
    """Returns the number of each finished seed, and the settings that are not as published."""
    numbers: dict[int, float] = {}
    differing: dict[str, None] = {}
    if entry is None:
        return {}, ()
    for seed in seeds:
        run = _finished_run(entry, seed)
        number = _number(run, entry.measure) if run else None
        if run and number is not None:
            numbers[seed] = number
            differing.update(dict.fromkeys(differing_settings(entry, run)))
    return numbers, tuple(differing)


def _finished_run(entry: Entry, seed: int) -> Run | None:
    """Returns the run of an entry if it was trained to its end and then scored."""
    planned = translation_of(entry).decoding(seed)
    folder = planned.run.folder
    if not (folder / RECORD).is_file() or not is_trained(planned.run):
        return None
    record = read_record(folder)
    decoding = record.decoding(planned.key)
    if decoding is None or not decoding.scores:
        return None
    run = Run(folder / RECORD, record, decoding)
    updates, wanted = run.updates, record.settings.get("max-update")
    if updates and isinstance(wanted, int | float) and updates < _WHOLE * wanted:
        return None
    return run


def _number(run: Run, measure: str) -> float | None:
    training = run.record.training
    if measure in SCORES:
        score = run.decoding.score(measure)
        return score.value if score else None
    if measure == "params":
        return training.parameters / 1e6 if training.parameters else None
    if measure == "train-steps":
        return run.updates / training.seconds if run.updates and training.seconds else None
    if measure == "decode-sentences":
        return run.decoding.sentences_per_second
    return run.decoding.tokens_per_second
