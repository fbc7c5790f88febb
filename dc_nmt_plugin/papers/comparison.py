"""Measured beside published numbers of the cells of a table or figure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..evaluation.chance import Difference, holm
from ..evaluation.metrics import METRICS
from ..evaluation.significance import compare_systems
from ..evaluation.systems import PlainTextOptions, load_systems, sides_of
from ..runs.finding import Run
from ..runs.record import read_record
from .document import SCORES, Entry, Item
from .published import differing_settings
from .selection import NEEDED, baseline, entries_of, is_masked, of_runs
from .systems import decoding_of

SPEEDS = ("train-steps", "decode-sentences", "decode-tokens")
_WHOLE = 0.99  # least share of updates in the log of a finished run: not every update is logged


@dataclass(frozen=True)
class Cell:
    """One published number of an item, and the measured one.

    Attributes:
        row, column, measure: of the entry
        published, published_difference, published_p: as printed; None where they are not
        ours: one number for each seed whose run is finished and scored
        difference: mean minus the baseline's mean, over the seeds that both have
        tested: interval and p of that difference; None without translations of both
        corrected_p: its p, by Holm for the systems in this column against this baseline
        against: the baseline's row
        other_settings: settings that differ from those of the published number
        other_settings_against: the same for the baseline
    """

    row: str
    column: str
    measure: str
    published: str | None = None
    published_difference: str | None = None
    published_p: str | None = None
    ours: tuple[float, ...] = ()
    difference: float | None = None
    tested: Difference | None = None
    corrected_p: float | None = None
    against: str = ""
    other_settings: tuple[str, ...] = ()
    other_settings_against: tuple[str, ...] = ()

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


def cells(item: Item, rows: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
    """Returns every number of an item that runs can give, in its order; none for analyses alone.

    Args:
        rows: as of :func:`entries_of`

    Raises:
        UserError: no such row, or nothing of the item can be run
    """
    # a finished run counts, whatever its text was
    entries = [entry for entry in entries_of(item, rows, NEEDED) if of_runs(entry)]
    return _corrected([_cell(entry, seeds) for entry in entries])


def _cell(entry: Entry, seeds: Sequence[int]) -> Cell:
    runs, base = _runs(entry, seeds), baseline(entry)
    base_runs = _runs(base, seeds) if base else {}
    both = [seed for seed in runs if seed in base_runs]
    scores = _numbers([runs[seed] for seed in both], entry.measure)
    base_scores = _numbers([base_runs[seed] for seed in both], entry.measure)
    gap = (
        statistics.fmean(scores) - statistics.fmean(base_scores) if scores and base_scores else None
    )
    return Cell(
        row=entry.row,
        column=entry.column,
        measure=entry.measure,
        published=None if entry.value is None else str(entry.value),
        published_difference=None if entry.difference is None else f"{entry.difference:+}",
        published_p=None if entry.p is None else str(entry.p),
        ours=tuple(_numbers(list(runs.values()), entry.measure)),
        difference=gap,
        tested=_tested(base_runs, runs, both, entry.measure),
        against=entry.row if is_masked(entry) else entry.against,
        other_settings=_other_settings(entry, runs.values()),
        other_settings_against=_other_settings(base, base_runs.values()),
    )


def _corrected(cells: Sequence[Cell]) -> list[Cell]:
    """Returns the cells with p corrected over the cells of one column, measure and baseline."""
    families: dict[tuple[str, str, str], list[int]] = {}
    for place, cell in enumerate(cells):
        if cell.tested:
            families.setdefault((cell.column, cell.measure, cell.against), []).append(place)
    corrected = list(cells)
    for places in families.values():
        tests = [cells[place].tested for place in places]
        p_values = holm([test.p_value for test in tests if test])
        for place, p_value in zip(places, p_values, strict=True):
            corrected[place] = replace(cells[place], corrected_p=p_value)
    return corrected


def _runs(entry: Entry, seeds: Sequence[int]) -> dict[int, Run]:
    """Returns the run of each seed that was trained to its end and then scored."""
    decoding = decoding_of(entry)
    runs = {}
    for seed in seeds:
        planned = decoding.run(seed)
        if not (planned.record.is_file() and planned.is_trained()):
            continue
        record = read_record(planned.folder)
        decoded = record.decoding(planned.way)
        if decoded and decoded.scores:
            run = Run(planned.record, record, decoded)
            updates, whole = run.updates, record.settings.get("max-update")
            if updates is None or not isinstance(whole, int | float) or updates >= _WHOLE * whole:
                runs[seed] = run
    return runs


def _other_settings(entry: Entry | None, runs: Iterable[Run]) -> tuple[str, ...]:
    """Returns the settings in which runs differ from a published entry, each once."""
    settings: dict[str, None] = {}
    for run in runs:
        assert entry is not None  # only an entry has runs
        differing = differing_settings(entry, run.record.settings, run.decoding.search)
        settings.update(dict.fromkeys(differing))
    return tuple(settings)


def _numbers(runs: Sequence[Run], measure: str) -> list[float]:
    numbers = [_number(run, measure) for run in runs]
    return [number for number in numbers if number is not None]


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


def _tested(
    base: Mapping[int, Run], ours: Mapping[int, Run], seeds: Sequence[int], measure: str
) -> Difference | None:
    """Returns the test of the difference over the seeds that both have."""
    if measure not in SCORES or not seeds or base == ours:
        return None
    runs = {f"base {seed}": base[seed] for seed in seeds}
    runs |= {f"ours {seed}": ours[seed] for seed in seeds}
    systems = load_systems(list(runs.values()), PlainTextOptions(), list(runs))
    metric = METRICS[measure]
    sides = sides_of(systems, metric)
    texts = {
        name: {str(seed): sides[f"{name} {seed}"].hypotheses for seed in seeds}
        for name in ("base", "ours")
    }
    references, language = sides[systems[0].label].references, systems[0].target_lang
    return compare_systems(texts, references, language, metric)[1].against
