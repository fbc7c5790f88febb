"""A table of runs as text, for a terminal, a README or LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..table import LATEX, TEXT, Form, number_cell
from .difference_text import TEST_COLUMNS, difference_notes, score_name, test_cells
from .run_table import RunRow, RunTable

# metric → its column's heading, and its name below the table
HEADINGS = {
    "mteval-v13a-lc": ("lower-cased", "BLEU lc"),
    "zh-lc": ("lower-cased", "BLEU lc"),
    "chrf": ("chrF", "chrF"),
}


def format_run_table(table: RunTable, form: Form) -> str:
    """Returns the table, with signatures and the baseline's speeds around it."""
    header, rows = _cells_of(table)
    if form is LATEX:
        return f"{form.lines(_notes(table))}\n{form.write(header, rows)}"
    if form is TEXT:
        return f"{form.write(header, rows)}\n\n{form.lines(_notes(table))}"
    coded = [[f"`{row[0]}`", f"`{row[1]}`" if row[1] else "", *row[2:]] for row in rows]
    signatures = {text: f"`{text}`" for text in table.signatures.values()}
    notes = "\n".join(f"- {note}" for note in _notes(table, signatures))
    return f"{form.write(header, coded)}\n\n{notes}"


def _cells_of(table: RunTable) -> tuple[list[str], list[list[str]]]:
    baseline = table.rows[0]
    others = list(dict.fromkeys(name for row in table.rows for name in row.scores))
    score = score_name(table.metric)
    header = [
        "run",
        "architecture",
        "parameters",
        "published parameters",
        "updates",
        "training speed",
        "decoding speed",
        score,
        *(HEADINGS.get(name, (name, name))[0] for name in others),
        *TEST_COLUMNS,
        f"published {score}",
        "to published",
    ]
    several = len(table.rows) > 2
    return header, [_cells(row, baseline, table.metric, others, several) for row in table.rows]


def _cells(
    row: RunRow, baseline: RunRow, metric: str, others: Sequence[str], several: bool
) -> list[str]:
    own = row.published_metric in (None, metric)
    other = "" if own else f" ({row.published_metric})"
    return [
        row.label + (f", {row.seeds} seeds" if row.seeds > 1 else ""),
        row.arch or "",
        number_cell(row.parameters, ",d"),
        number_cell(row.published_parameters, ",d"),
        number_cell(row.updates, ",d"),
        _relative(row.train_tokens_per_second, baseline.train_tokens_per_second),
        _relative(row.decode_sentences_per_second, baseline.decode_sentences_per_second),
        f"{row.score:.2f}" + (f" ± {row.deviation:.2f}" if row.deviation is not None else ""),
        *(number_cell(row.scores.get(name), ".2f") for name in others),
        *test_cells(row.difference, row.against, row.corrected_p, several),
        number_cell(row.published_score, "g") + other,
        number_cell(row.to_published, "+.2f"),
    ]


def _notes(table: RunTable, code: Mapping[str, str] | None = None) -> list[str]:
    baseline = table.rows[0]
    names = {name: below for name, (_, below) in HEADINGS.items() if name != table.metric}
    notes = [
        f"{names.get(name, name)}: {(code or {}).get(signature, signature)}"
        for name, signature in table.signatures.items()
    ]
    notes.append(f"{table.sentences:,} test sentences")
    several = any(row.seeds > 1 for row in table.rows)
    if several:
        notes.append("±: standard deviation over the seeds")
    if len(table.rows) > 1:
        found = {row.label: row.against for row in table.rows[1:]}
        notes += difference_notes(found, baseline.label, table.metric)
        notes += _notes_on_seeds(table)
    speeds = [
        f"{value:,.0f} {what}"
        for value, what in (
            (baseline.train_tokens_per_second, "target tokens/s in training"),
            (baseline.decode_sentences_per_second, "sentences/s in decoding"),
        )
        if value
    ]
    if speeds:
        measured = f", by dc-nmt bench on {table.speeds}" if table.speeds else ""
        notes.append(f"training and decoding speed: 1.00 is {' and '.join(speeds)}{measured}")
        without = [
            row.label
            for row in table.rows
            if row.arch and not (row.train_tokens_per_second or row.decode_sentences_per_second)
        ]
        if without and not table.speeds:
            notes.append(f"{', '.join(without)}: no speeds, of another device or unknown")
    if any(row.published_metric not in (None, table.metric) for row in table.rows):
        notes.append("to published: score by the metric in brackets minus the published one")
    places = dict.fromkeys(row.published_place for row in table.rows if row.published_place)
    return notes + [f"published: {place}" for place in places]


def _notes_on_seeds(table: RunTable) -> list[str]:
    """Returns a note on rows whose difference is not that of the scores in the table."""
    baseline, *others = table.rows
    rows: dict[tuple[str, ...], list[str]] = {}
    for row in others:
        seeds = row.compared_seeds
        if seeds is not None and not len(seeds) == row.seeds == baseline.seeds:
            rows.setdefault(tuple(seeds), []).append(row.label)
    return [
        f"{', '.join(labels)}: the difference is {_compared(seeds)}"
        for seeds, labels in rows.items()
    ]


def _compared(seeds: tuple[str, ...]) -> str:
    if not seeds:
        return "to all runs, as there is no common seed"
    return f"of {'seed' if len(seeds) == 1 else 'seeds'} {', '.join(seeds)}"


def _relative(value: float | None, one: float | None) -> str:
    return f"{value / one:.2f}" if value and one else ""
