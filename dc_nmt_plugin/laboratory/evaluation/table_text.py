"""Prints differences to a baseline, comparisons and tables of runs.

A table of differences has the columns of :data:`DIFFERENCE_COLUMNS`, and :func:`difference_notes`
under it. :func:`format_results` prints :class:`~.rows.ResultTable`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...errors import counted
from ..table import LATEX, Form, NamedColumns, number_cell
from .chance import LEAST_SENTENCES, LEVEL, RESAMPLES, Difference
from .rows import ResultRow, ResultTable

if TYPE_CHECKING:
    from .significance import Comparison

STRICT = 0.01
DIFFERENCE_COLUMNS = ("difference", "95% interval", "p", "p (Holm)")
_DIFFERENCE = dict(zip(("difference", "interval", "p", "holm"), DIFFERENCE_COLUMNS, strict=True))
# columns of a table of runs: name of --columns → heading, with the name of the score. Score and
# test come first: a narrow terminal shows the later columns below the table.
RESULT_COLUMNS = {
    "run": "run",
    "score": "{score}",
    **_DIFFERENCE,
    "lower-cased": "lower-cased",
    "chrf": "chrF",
    "published": "published {score}",
    "to-published": "to published",
    "architecture": "architecture",
    "parameters": "parameters",
    "updates": "updates",
    "training-speed": "training speed",
    "decoding-speed": "decoding speed",
}
COLUMN_MEANINGS = {
    "run": "name of the run, or of the system and its seeds",
    "score": "score of the test set by the metric in the first note; for seeds, mean ± standard "
    "deviation",
    "difference": "score minus the score of the baseline, which is the first row",
    "interval": "95% confidence interval of the difference; one that excludes 0 has p < 0.05",
    "p": "two-sided p of the difference",
    "holm": "p after Holm's correction for the number of systems; the stars are by it",
    "lower-cased": "BLEU of lower-cased text",
    "chrf": "chrF, an F score of character n-grams",
    "published": "score that the paper prints",
    "to-published": "score minus the published score, by the metric of the paper",
    "architecture": "value of --arch",
    "parameters": "number of trained parameters",
    "updates": "updates of the model that translated",
    "training-speed": "target tokens a second in training, as a multiple of the baseline's",
    "decoding-speed": "sentences a second in decoding, as a multiple of the baseline's",
}
# by importance, without speeds: one measurement of one machine
_RESULTS_ON_A_PAGE = (
    "run", "score", "difference", "interval", "holm", "parameters", "p", "to-published",
    "published", "chrf",
)  # fmt: skip
# columns of dc-nmt compare
COMPARISON_COLUMNS = {"system": "against", "score": "", "margin": "± 95%", **_DIFFERENCE}
FURTHER = {"mteval-v13a-lc": "lower-cased", "chrf": "chrf"}  # metric → its column
_BELOW = {"mteval-v13a-lc": "BLEU lc", "chrf": "chrF"}  # metric → its name below the table


def score_name(metric: str) -> str:
    """Returns what a metric's scores are called: BLEU, chrF or TER."""
    return {"chrf": "chrF", "ter": "TER", "ter-char": "TER"}.get(metric, "BLEU")


# -- differences -----------------------------------------------------------------------------


def difference_cells(
    difference: float | None, test: Difference | None, corrected_p: float | None, several: bool
) -> dict[str, str]:
    """Returns difference, interval, p and holm: ``+0.54*``, ``[0.12, 0.96]``, 0.012 and 0.024.

    Args:
        difference: None for the baseline
        test: of the difference; None without one
        corrected_p: by which it has stars
        several: systems are compared with this baseline, so that both p are shown
    """
    stars = ""
    if corrected_p is not None and corrected_p < LEVEL:
        stars = "**" if corrected_p < STRICT else "*"
    return {
        "difference": number_cell(difference, "+.2f") + stars,
        "interval": f"[{test.interval[0]:.2f}, {test.interval[1]:.2f}]" if test else "",
        "p": _p_cell(test.p_value if test else None),
        "holm": _p_cell(corrected_p if several else None),
    }


def _p_cell(p_value: float | None) -> str:
    return "<0.001" if p_value is not None and p_value < 0.001 else number_cell(p_value, ".3f")


def difference_notes(
    tests: Mapping[str, Difference | None], baseline: str, metric: str
) -> list[str]:
    """Returns the lines under a table of differences to one baseline.

    Args:
        tests: name → test, or None where both systems have too little text
        baseline: its name
        metric: name of the metric
    """
    tested = {name: test for name, test in tests.items() if test}
    untested = [name for name, test in tests.items() if not test]
    notes = []
    if tested:
        notes += _notes_on_seeds(tested, baseline)
        if score_name(metric) == "TER":
            notes.append("TER: lower is better")
        holm = f" after Holm's correction for {len(tested)} systems" if len(tested) > 1 else ""
        notes.append(f"stars: * p < {LEVEL}, ** p < {STRICT}, two-sided{holm}")
    if untested:
        n_grams = " with a matching 4-gram" if score_name(metric) == "BLEU" else ""
        notes.append(
            f"{', '.join(untested)}: no p, because there are fewer than {LEAST_SENTENCES} "
            f"sentences{n_grams}"
        )
    return notes


def _notes_on_seeds(tested: Mapping[str, Difference], baseline: str) -> list[str]:
    """Returns what interval and p include: variation between sentences, and between seeds."""
    # freedom is None where the test is over sentences alone
    one_seed = [name for name, test in tested.items() if test.freedom is None]
    note = (
        f"difference: to {baseline}; 95% interval and two-sided p include variation between "
        f"sentences (paired bootstrap, {RESAMPLES:,} resamples)"
    )
    if len(one_seed) == len(tested):
        return [note, "interval and p do not include variation between training seeds"]
    notes = [f"{note} and between seeds (Satterthwaite)"]
    if one_seed:
        names = ", ".join(one_seed)
        notes.append(f"{names}: interval and p do not include variation between seeds")
    return notes


def comparison_table(comparisons: Sequence[Comparison], metric: str) -> NamedColumns:
    """Returns a table of systems, the baseline first."""
    rows = []
    several = len(comparisons) > 2
    for c in comparisons:
        rows.append(
            {
                "system": c.name,
                "score": f"{c.score:.2f}",
                "margin": f"{c.interval:.2f}",
                **difference_cells(c.difference, c.against, c.corrected_p, several),
            }
        )
    headings = {**COMPARISON_COLUMNS, "system": f"against {comparisons[0].name}", "score": metric}
    return NamedColumns(headings, rows, list(COMPARISON_COLUMNS))


# -- tables of runs --------------------------------------------------------------------------


def format_results(table: ResultTable, form: Form, columns: Sequence[str] | None = None) -> str:
    """Returns the table, and notes on its columns: signatures, tests, speeds, published numbers."""
    named = result_columns(table, form.code)
    text = named.written(form, columns)
    notes = form.lines(result_notes(table, form.code))
    if form is LATEX:  # comments stand above
        return f"{notes}\n{text}"
    return f"{text}\n\n{notes}"


def result_columns(table: ResultTable, code: str = "") -> NamedColumns:
    """Returns the cells of a table; `code` is put around names."""
    headings = {
        name: heading.format(score=score_name(table.metric))
        for name, heading in RESULT_COLUMNS.items()
    }
    rows = [_cells(row, table, code) for row in table.rows]
    return NamedColumns(headings, rows, _RESULTS_ON_A_PAGE)


def _cells(row: ResultRow, table: ResultTable, code: str) -> dict[str, str]:
    system, baseline, score, test = row.system, table.rows[0].system, row.score, row.test
    label = f"{system.label}, {system.seeds} seeds" if system.seeds > 1 else system.label
    deviation = "" if score.deviation is None else f" ± {score.deviation:.2f}"
    metric = f" ({row.published.metric})" if _by_another_metric(row, table) else ""
    training, decoding = system.train_tokens_per_second, system.decode_sentences_per_second
    several = len(table.rows) > 2
    return {
        "run": f"{code}{label}{code}",
        "score": f"{score.value:.2f}{deviation}",
        **difference_cells(test.difference, test.against, test.corrected_p, several),
        **{FURTHER[name]: number_cell(score.further.get(name), ".2f") for name in FURTHER},
        "published": number_cell(row.published.score, "g") + metric,
        "to-published": number_cell(row.published.to_published, "+.2f"),
        "architecture": f"{code}{system.arch}{code}" if system.arch else "",
        "parameters": number_cell(system.parameters, ",d"),
        "updates": number_cell(system.updates, ",d"),
        "training-speed": _ratio(training, baseline.train_tokens_per_second),
        "decoding-speed": _ratio(decoding, baseline.decode_sentences_per_second),
    }


def _by_another_metric(row: ResultRow, table: ResultTable) -> bool:
    """Returns True if the paper prints another metric than the table's."""
    return row.published.metric not in (None, table.metric)


def _ratio(value: float | None, baseline: float | None) -> str:
    return f"{value / baseline:.1f}" if value and baseline else ""


def result_notes(table: ResultTable, code: str = "") -> list[str]:
    """Returns the lines under a table; `code` is put around signatures."""
    baseline, *others = table.rows
    notes = []
    for metric, signature in table.signatures.items():
        name = metric if metric == table.metric else _BELOW.get(metric, metric)
        notes.append(f"{name}: {code}{signature}{code}")
    notes.append(counted(table.sentences, "test sentence"))
    if any(row.system.seeds > 1 for row in table.rows):
        notes.append("±: standard deviation over the seeds")
    if table.is_recorded:
        notes.append("scores as recorded, no differences: the text of the test set is not here")
    elif others:
        tests = {row.system.label: row.test.against for row in others}
        notes += difference_notes(tests, baseline.system.label, table.metric)
        notes += _notes_on_compared_seeds(table)
    notes += _notes_on_conditions(others)
    for row in table.rows:
        notes += repeated_note(row.system.label, row.score.repeated)
        if row.system.start:
            notes.append(f"{row.system.label}: fine-tuned from {row.system.start}")
    notes += _notes_on_speeds(table) + _notes_on_published(table)
    return notes + _notes_on_recorded(table)


def _notes_on_conditions(others: Sequence[ResultRow]) -> list[str]:
    """Returns how rows differ from the baseline, besides the model."""
    notes = []
    labels_of: dict[str, list[str]] = {}  # settings → labels
    for row in others:
        label, test = row.system.label, row.test
        if test.other_seed:
            notes.append(other_seed_note(label))
        if test.differs:
            notes.append(
                f"{label}: no stars, because more than the model differs from the "
                f"baseline: {test.differs} (--baseline NAME tests it all the same)"
            )
        if test.settings:
            labels_of.setdefault(test.settings, []).append(label)
    return notes + [settings_note(labels, settings) for settings, labels in labels_of.items()]


def other_seed_note(label: str) -> str:
    return f"{label}: no stars, because this is another seed of the baseline's system"


def settings_note(labels: Sequence[str], differences: str) -> str:
    return f"{', '.join(labels)}: not only the model differs from the baseline: {differences}"


def repeated_note(label: str, count: int) -> list[str]:
    """Returns the note on so many equal hypotheses; [] for 0."""
    return [f"{label}: {count:,} hypotheses are one and the same sentence"] if count else []


def _notes_on_recorded(table: ResultTable) -> list[str]:
    """Returns what was read in the records and not found again in other files."""
    uncounted = [row.system.label for row in table.rows if not row.system.parameters_counted]
    facts = ["updates", "architectures", "speeds"]
    if len(uncounted) == len(table.rows):
        facts.append("parameters")
    elif uncounted:
        facts.append(f"parameters of {', '.join(uncounted)}")
    return [f"as recorded: {', '.join(facts)}"]


def _notes_on_compared_seeds(table: ResultTable) -> list[str]:
    """Returns notes on rows whose difference is not that of the scores in the table."""
    baseline, *others = table.rows
    rows_of: dict[str, list[str]] = {}  # compared seeds → labels
    for row in others:
        seeds = row.test.compared_seeds
        if seeds is None or len(seeds) == row.system.seeds == baseline.system.seeds:
            continue
        if not seeds:
            compared = "to all runs, as there is no common seed"
        elif len(seeds) == 1:
            compared = f"of seed {seeds[0]}"
        else:
            compared = f"of seeds {', '.join(seeds)}"
        rows_of.setdefault(compared, []).append(row.system.label)
    return [f"{', '.join(rows)}: the difference is {seeds}" for seeds, rows in rows_of.items()]


def _notes_on_speeds(table: ResultTable) -> list[str]:
    baseline = table.rows[0].system
    speeds = []
    if baseline.train_tokens_per_second:
        speeds.append(f"{baseline.train_tokens_per_second:,.0f} target tokens/s in training")
    if baseline.decode_sentences_per_second:
        speeds.append(f"{baseline.decode_sentences_per_second:,.0f} sentences/s in decoding")
    if not speeds:
        return []
    measured = "means over the seeds" if baseline.seeds > 1 else "measured once"
    if table.speeds:
        measured = f"measured on {table.speeds}"
    return [f"training and decoding speed: 1.0 is {' and '.join(speeds)}; {measured}"]


def _notes_on_published(table: ResultTable) -> list[str]:
    notes = []
    if any(_by_another_metric(row, table) for row in table.rows):
        notes.append("to published: score by the metric in brackets minus the published one")
    printed_in = dict.fromkeys(row.published.printed_in for row in table.rows)
    notes += [f"published: {items}" for items in printed_in if items]
    for row in table.rows:
        if row.published.differs:
            notes.append(
                f"{row.system.label} differs from the published run: {row.published.differs}"
            )
    return notes
