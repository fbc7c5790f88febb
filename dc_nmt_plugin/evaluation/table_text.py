"""Differences to a baseline, comparisons and tables of runs as text.

A table of differences has the columns of :data:`TEST_COLUMNS`, and :func:`difference_notes` under
it. :func:`format_run_table` prints :class:`~.run_table.RunTable`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..table import MARKDOWN, Form, number_cell
from .chance import LEVEL, RESAMPLES, Difference
from .run_table import RunRow, RunTable
from .significance import LEAST_SENTENCES, Comparison

STRICT = 0.01
TEST_COLUMNS = ("difference", "95% interval", "p", "p (Holm)")
# metric → its column's heading, and its name below the table
HEADINGS = {
    "mteval-v13a-lc": ("lower-cased", "BLEU lc"),
    "zh-lc": ("lower-cased", "BLEU lc"),
    "chrf": ("chrF", "chrF"),
}


def score_name(metric: str) -> str:
    """Returns what a metric's scores are called: BLEU, chrF or TER."""
    return {"chrf": "chrF", "ter": "TER"}.get(metric, "BLEU")


# -- differences -----------------------------------------------------------------------------


def test_cells(
    difference: float | None, test: Difference | None, corrected_p: float | None, several: bool
) -> tuple[str, ...]:
    """Returns the cells of TEST_COLUMNS, such as ``+0.54*``, ``[0.12, 0.96]``, 0.012 and 0.024.

    Args:
        difference: None for the baseline
        test: of the difference; None without one
        corrected_p: by which it has stars
        several: systems are compared with this baseline, so that both p are shown
    """
    stars = ""
    if corrected_p is not None and corrected_p < LEVEL:
        stars = "**" if corrected_p < STRICT else "*"
    return (
        number_cell(difference, "+.2f") + stars,
        f"[{test.interval[0]:.2f}, {test.interval[1]:.2f}]" if test else "",
        _p_cell(test.p_value if test else None),
        _p_cell(corrected_p if several else None),
    )


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
    notes = []
    tested = {name: test for name, test in tests.items() if test}
    if tested:
        alone = [name for name, test in tested.items() if test.freedom is None]
        several, seeds = len(tested) > 1, len(alone) < len(tested)
        notes.append(
            f"difference: to {baseline}; 95% interval and two-sided p include variation between "
            f"sentences (paired bootstrap, {RESAMPLES:,} resamples)"
            + (" and between seeds (Satterthwaite)" if seeds else "")
        )
        if not seeds:
            notes.append("interval and p do not include variation between training seeds")
        elif alone:
            names = ", ".join(alone)
            notes.append(f"{names}: interval and p do not include variation between seeds")
        corrected = f" after Holm's correction for {len(tested)} systems" if several else ""
        notes.append(f"stars: * p < {LEVEL}, ** p < {STRICT}, two-sided{corrected}")
    untested = ", ".join(name for name in tests if name not in tested)
    if untested:
        n_grams = " with a matching 4-gram" if score_name(metric) == "BLEU" else ""
        notes.append(
            f"{untested}: no p, because there are fewer than {LEAST_SENTENCES} sentences{n_grams}"
        )
    return notes


def comparison_table(
    comparisons: Sequence[Comparison], metric: str
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Returns header and rows of a table of systems, the baseline first."""
    several = len(comparisons) > 2
    rows = []
    for c in comparisons:
        tests = test_cells(c.difference, c.against, c.corrected_p, several)
        rows.append((c.name, f"{c.score:.2f}", f"{c.interval:.2f}", *tests))
    baseline = f"against {comparisons[0].name}"
    return [baseline, metric, "± 95%", *TEST_COLUMNS], rows


def comparison_notes(comparisons: Sequence[Comparison], metric: str) -> list[str]:
    """Returns the lines under the table of :func:`comparison_table`."""
    baseline, *others = comparisons
    return difference_notes({c.name: c.against for c in others}, baseline.name, metric)


# -- tables of runs --------------------------------------------------------------------------


def format_run_table(table: RunTable, form: Form) -> str:
    """Returns the table, with signatures and the baseline's speeds around it."""
    others = [name for name in table.signatures if name != table.metric]
    score = score_name(table.metric)
    # score and tests come first, before what a terminal has no room for beside them
    header = ["run", score, *TEST_COLUMNS, *(HEADINGS.get(name, (name,))[0] for name in others)]
    header += [f"published {score}", "to published", "architecture", "parameters"]
    header += ["updates", "training speed", "decoding speed"]
    mark = "`" if form is MARKDOWN else ""
    rows = [_cells(row, table, others, mark) for row in table.rows]
    notes = _notes(table, mark)
    if form is MARKDOWN:
        notes = [f"- {note}" for note in notes]
    if form.comment:
        return f"{form.lines(notes)}\n{form.write(header, rows)}"
    return f"{form.write(header, rows)}\n\n{form.lines(notes)}"


def _cells(row: RunRow, table: RunTable, others: Sequence[str], mark: str) -> list[str]:
    """Returns the cells of a row; `mark` is put around names, as Markdown marks code."""
    baseline = table.rows[0]
    label = f"{row.label}, {row.seeds} seeds" if row.seeds > 1 else row.label
    deviation = "" if row.deviation is None else f" ± {row.deviation:.2f}"
    other_metric = "" if _by(row, table.metric) else f" ({row.published.metric})"
    return [
        f"{mark}{label}{mark}",
        f"{row.score:.2f}{deviation}",
        *test_cells(row.difference, row.against, row.corrected_p, len(table.rows) > 2),
        *(number_cell(row.scores.get(name), ".2f") for name in others),
        number_cell(row.published.score, "g") + other_metric,
        number_cell(row.to_published, "+.2f"),
        f"{mark}{row.arch}{mark}" if row.arch else "",
        number_cell(row.parameters, ",d"),
        number_cell(row.updates, ",d"),
        _relative(row.train_tokens_per_second, baseline.train_tokens_per_second),
        _relative(row.decode_sentences_per_second, baseline.decode_sentences_per_second),
    ]


def _by(row: RunRow, metric: str) -> bool:
    return row.published.metric in (None, metric)


def _relative(value: float | None, one: float | None) -> str:
    return f"{value / one:.2f}" if value and one else ""


def _notes(table: RunTable, mark: str) -> list[str]:
    """Returns the lines around a table; `mark` is put around signatures."""
    baseline, *others = table.rows
    notes = []
    for name, signature in table.signatures.items():
        heading = HEADINGS[name][1] if name in HEADINGS and name != table.metric else name
        notes.append(f"{heading}: {mark}{signature}{mark}")
    notes.append(f"{table.sentences:,} test sentences")
    if any(row.seeds > 1 for row in table.rows):
        notes.append("±: standard deviation over the seeds")
    if others:
        tests = {row.label: row.against for row in others}
        notes += difference_notes(tests, baseline.label, table.metric)
        notes += _notes_on_seeds(table)
    for row in others:
        if row.differs:
            notes.append(
                f"{row.label}: no stars, because its training differs from the baseline's: "
                f"{row.differs} (--baseline NAME tests it all the same)"
            )
    return notes + _notes_on_speeds(table) + _notes_on_published(table)


def _notes_on_seeds(table: RunTable) -> list[str]:
    """Returns a note on rows whose difference is not that of the scores in the table."""
    baseline, *others = table.rows
    labels_of: dict[str, list[str]] = {}
    for row in others:
        seeds = row.compared_seeds
        if seeds is None or len(seeds) == row.seeds == baseline.seeds:
            continue
        compared = f"of {'seed' if len(seeds) == 1 else 'seeds'} {', '.join(seeds)}"
        if not seeds:
            compared = "to all runs, as there is no common seed"
        labels_of.setdefault(compared, []).append(row.label)
    return [f"{', '.join(rows)}: the difference is {what}" for what, rows in labels_of.items()]


def _notes_on_speeds(table: RunTable) -> list[str]:
    training = table.rows[0].train_tokens_per_second
    decoding = table.rows[0].decode_sentences_per_second
    speeds = [f"{training:,.0f} target tokens/s in training"] if training else []
    speeds += [f"{decoding:,.0f} sentences/s in decoding"] if decoding else []
    if not speeds:
        return []
    measured = f", measured on {table.speeds}" if table.speeds else ""
    return [f"training and decoding speed: 1.00 is {' and '.join(speeds)}{measured}"]


def _notes_on_published(table: RunTable) -> list[str]:
    notes = []
    if not all(_by(row, table.metric) for row in table.rows):
        notes.append("to published: score by the metric in brackets minus the published one")
    places = dict.fromkeys(row.published.place for row in table.rows if row.published.place)
    notes += [f"published: {place}" for place in places]
    for row in table.rows:
        if row.published.differs:
            notes.append(f"{row.label} differs from the published run: {row.published.differs}")
    return notes
