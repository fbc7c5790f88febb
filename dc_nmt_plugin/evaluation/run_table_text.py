"""A table of runs as text, for a terminal, a README or LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..runs.finding import Run
from ..table import LATEX, TEXT, Form, number_cell
from .difference_text import TEST_COLUMNS, difference_notes, score_name, test_cells
from .run_table import RunRow, RunTable, collect

SCORE = 7  # number of the column of the table's metric
# metric → its column's heading, and its name below the table
HEADINGS = {
    "mteval-v13a-lc": ("lower-cased", "BLEU lc"),
    "zh-lc": ("lower-cased", "BLEU lc"),
    "chrf": ("chrF", "chrF"),
}


def format_runs(folders: Iterable[Path]) -> str:
    """Returns the table of finished runs for a terminal."""
    return format_run_table(collect([Run.read(folder) for folder in folders]), TEXT)


def format_run_table(table: RunTable, form: Form) -> str:
    """Returns the table, with signatures and the baseline's speeds around it."""
    header, rows = _cells_of(table)
    if form is LATEX:
        return f"{form.lines(_notes(table))}\n{form.write(header, rows)}"
    if form is TEXT:
        # score and tests come first, before what the terminal has no room for beside them
        tests = header.index(TEST_COLUMNS[0])
        end = tests + len(TEST_COLUMNS)
        order = [0, SCORE, *range(tests, end), *range(SCORE + 1, tests), *range(end, len(header))]
        order += range(1, SCORE)
        header, *rows = ([row[n] for n in order] for row in (header, *rows))
        return f"{form.write(header, rows)}\n\n{form.lines(_notes(table))}"
    code = [[f"`{row[0]}`", f"`{row[1]}`" if row[1] else "", *row[2:]] for row in rows]
    notes = "\n".join(f"- {note}" for note in _notes(table, mark="`"))
    return f"{form.write(header, code)}\n\n{notes}"


def _cells_of(table: RunTable) -> tuple[list[str], list[list[str]]]:
    others = [name for name in table.signatures if name != table.metric]
    score = score_name(table.metric)
    header = ["run", "architecture", "parameters", "published parameters", "updates"]
    header += ["training speed", "decoding speed", score]
    header += [HEADINGS.get(name, (name, name))[0] for name in others]
    header += [*TEST_COLUMNS, f"published {score}", "to published"]
    several = len(table.rows) > 2
    return header, [_cells(row, table, others, several) for row in table.rows]


def _cells(row: RunRow, table: RunTable, others: Sequence[str], several: bool) -> list[str]:
    baseline = table.rows[0]
    label = f"{row.label}, {row.seeds} seeds" if row.seeds > 1 else row.label
    deviation = "" if row.deviation is None else f" ± {row.deviation:.2f}"
    other_metric = "" if _by(row, table.metric) else f" ({row.published_metric})"
    return [
        label,
        row.arch or "",
        number_cell(row.parameters, ",d"),
        number_cell(row.published_parameters, ",d"),
        number_cell(row.updates, ",d"),
        _relative(row.train_tokens_per_second, baseline.train_tokens_per_second),
        _relative(row.decode_sentences_per_second, baseline.decode_sentences_per_second),
        f"{row.score:.2f}{deviation}",
        *(number_cell(row.scores.get(name), ".2f") for name in others),
        *test_cells(row.difference, row.against, row.corrected_p, several),
        number_cell(row.published_score, "g") + other_metric,
        number_cell(row.to_published, "+.2f"),
    ]


def _by(row: RunRow, metric: str) -> bool:
    return row.published_metric in (None, metric)


def _relative(value: float | None, one: float | None) -> str:
    return f"{value / one:.2f}" if value and one else ""


def _notes(table: RunTable, mark: str = "") -> list[str]:
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
        notes += [
            f"{row.label}: no stars, because its training differs from the baseline's: "
            f"{row.differs} (--baseline NAME tests it all the same)"
            for row in others
            if row.differs
        ]
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
    notes = [f"training and decoding speed: 1.00 is {' and '.join(speeds)}{measured}"]
    without = [
        row.label
        for row in table.rows
        if row.arch and not (row.train_tokens_per_second or row.decode_sentences_per_second)
    ]
    if without and not table.speeds:
        notes.append(f"{', '.join(without)}: no speeds, of another device or unknown")
    return notes


def _notes_on_published(table: RunTable) -> list[str]:
    notes = []
    if not all(_by(row, table.metric) for row in table.rows):
        notes.append("to published: score by the metric in brackets minus the published one")
    places = dict.fromkeys(row.published_place for row in table.rows if row.published_place)
    notes += [f"published: {place}" for place in places]
    for row in table.rows:
        if row.published_differs:
            notes.append(f"{row.label} differs from the published run: {row.published_differs}")
    return notes
