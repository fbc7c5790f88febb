"""Writes the page: gathers the sections, and fills the template ``page.html``."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import matplotlib
from jinja2 import Environment
from markupsafe import Markup

from ...checkpoints.names import of_run
from ...errors import UserError, printable
from ...files import making
from ...laboratory.evaluation.conditions import all_conditions, full_search
from ...laboratory.evaluation.metrics import METRICS
from ...laboratory.evaluation.rows import ResultTable
from ...laboratory.evaluation.systems import ComparedSystem
from ...laboratory.evaluation.table_figure import draw_results
from ...laboratory.evaluation.table_text import COLUMN_MEANINGS, result_columns
from ...laboratory.finding import Run
from ...laboratory.inference.trained_run import find_runs
from ...laboratory.plot import new_figure, write_figure
from ...runs.differences import NOT_GIVEN, differing, shown
from ..analysis import CURVES, curves, matrix
from ..analysis.figure import draw_charts
from ..analysis.subject import Subject
from .words import Words

TEMPLATE = Path(__file__).with_name("page.html")


@dataclass(frozen=True)
class Picture:
    about: str  # for those who do not see it
    url: str  # which holds the picture


@dataclass(frozen=True)
class PageTable:
    about: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass
class Section:
    """A section of the page; a missing part is left out, and a line says why."""

    title: str
    about: list[str] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    tables: list[PageTable] = field(default_factory=list)
    examples: dict[str, Any] = field(default_factory=dict)  # system → examples of words.py
    left_out: list[str] = field(default_factory=list)


def write_page(
    folder: Path,
    table: ResultTable,
    notes: Sequence[str],
    runs: Mapping[str, Sequence[Run]],
    systems: Sequence[ComparedSystem],
    sentences: Sequence[int],
) -> Path:
    """Writes the page into a new folder, and returns its path.

    Args:
        folder: new or empty
        table: whose first row is the baseline
        notes: on the table
        runs: label of a row → its runs, as far as they are here
        systems: text of one run of each row; none without the text of the test set
        sentences: numbers of those whose attention is shown, from 1
    """
    warnings = dict.fromkeys(line for system in systems for line in system.texts.warnings)
    named = _named(runs)
    sections = [
        _learning(named, list(runs)),
        _settings(runs),
        _words(systems, table.metric),
        _attention(named, sentences),
    ]
    columns = result_columns(table)
    names = [name for name in columns.headings if any(row[name] for row in columns.rows)]
    environment = Environment(autoescape=True, finalize=_printable, trim_blocks=True)
    template = environment.from_string(TEMPLATE.read_text("utf-8"))
    text = template.render(
        baseline=table.rows[0].system.label,
        results=PageTable(
            "a click on a heading sorts",
            [columns.headings[name] for name in names],
            [[row[name] for name in names] for row in columns.rows],
        ),
        meanings=[(columns.headings[name], COLUMN_MEANINGS[name]) for name in names],
        notes=notes,
        warnings=list(map(_without_folders, warnings)),
        figure=_picture(
            "each run as a dot, means, and the 95% interval of the difference to the baseline",
            partial(draw_results, tables=[table]),
        ),
        sections=sections,
    )
    with making(folder) as new:
        (new / "index.html").write_text(text, encoding="utf-8")
    return folder / "index.html"


def _printable(value: object) -> object:
    return value if isinstance(value, Markup) else printable(value)


def _without_folders(line: object) -> str:
    """Returns a line without the folders of this machine: a page is sent to others."""
    return re.sub(r"(?<!\S)/\S*/", "", str(line))


def _picture(about: str, draw: Callable[[Any], None]) -> Picture:
    """Returns an SVG whose letters are those of the browser, so that it has those of Japanese."""
    figure, written = new_figure(), BytesIO()
    draw(figure)
    with matplotlib.rc_context({"svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"]}):
        write_figure(figure, written, "svg")
    # each label names the fonts of this machine, which can be most of the page
    svg = re.sub(r"; font-family: [^;\"]*|\n +", " ", written.getvalue().decode())
    svg = svg.replace("<svg ", '<svg font-family="DejaVu Sans, sans-serif" ', 1)
    data = base64.b64encode(svg.encode()).decode()
    return Picture(about, f"data:image/svg+xml;base64,{data}")


def _named(runs: Mapping[str, Sequence[Run]]) -> dict[str, Run]:
    """Returns name → run: the row's label, with the seed of one of several; each run once."""
    named: dict[Path, tuple[str, Run]] = {}
    for label, of_row in runs.items():
        for run in of_row:
            name = label if len(of_row) == 1 else f"{label} s{run.record.seed}"
            named.setdefault(run.path, (name, run))
    return dict(named.values())


def _learning(runs: Mapping[str, Run], systems: Sequence[str]) -> Section:
    """Returns the learning curves of all runs in one picture."""
    section, found = Section("Learning curves"), {}
    for name, run in runs.items():
        try:
            found[name] = curves.measure(run.path.parent)
        except UserError as error:
            section.left_out.append(_without_folders(error))
    logged = {number for result in found.values() for number in result.curves}
    numbers = [number for number in CURVES if number in logged]
    if numbers:
        draw = partial(curves.draw, results=found, systems=systems, numbers=numbers)
        section.pictures.append(
            _picture("losses, and BLEU where it was logged, against updates", draw)
        )
    return section


def _settings(runs: Mapping[str, Sequence[Run]]) -> Section:
    """Returns the settings that differ from the baseline's, and what made each system."""
    section = Section("How the systems differ")
    known = {label: of_row for label, of_row in runs.items() if of_row}
    if not known:
        section.left_out.append("no run is here")
        return section
    made = list(map(_made, known.values()))
    # the other runs of a row differ in the seed alone
    rows = _differing_settings([of_row[0] for of_row in known.values()])
    rows += [[name, *(facts[name] for facts in made)] for name in made[0]]
    about = "settings that are not the same, and how the runs were made; empty: not recorded"
    section.tables.append(PageTable(about, ["", *known], [row for row in rows if any(row[1:])]))
    return section


def _differing_settings(runs: Sequence[Run]) -> list[list[str]]:
    """Returns each setting in which a run differs from the first one, with the values of all."""
    settings = [all_conditions(run) | full_search(run.decoding.search) for run in runs]
    names = [found.name for other in settings for found in differing(settings[0], other)]
    rows = []
    for name in dict.fromkeys(names):
        values = [of_run.get(name, NOT_GIVEN) for of_run in settings]
        rows.append([name, *("" if value is None else shown(value) for value in values)])
    return rows


def _made(runs: Sequence[Run]) -> dict[str, str]:
    """Returns how the runs of a system were made: fact → its values, as recorded."""
    records = [run.record for run in runs]
    starts = [start for record in records for start in record.starts]
    versions = [start.versions for start in starts]
    versions = versions or [record.training.versions for record in records]
    return {
        "training text": _each_once((record.data.text for record in records), 12),
        "commit": _each_once((start.commit for start in starts), 12),
        "versions": _each_once(", ".join(map(" ".join, each.items())) for each in versions),
        "device": _each_once(record.training.device for record in records),
        "date": _each_once((start.date for start in starts), 10),
    }


def _each_once(values: Iterable[str | None], letters: int | None = None) -> str:
    """Returns the known values, or their first letters."""
    return "; ".join(dict.fromkeys(value[:letters] for value in values if value))


def _words(systems: Sequence[ComparedSystem], metric: str) -> Section:
    """Returns the comparison of compare-mt."""
    section = Section("Words and sentences")
    if not systems:
        section.left_out.append("the text of the test set is not here")
        return section
    names = ", ".join(system.run.record.name if system.run else system.label for system in systems)
    section.about.append(f"One run of each system is compared by compare-mt: {names}.")
    words = Words(systems, METRICS[metric])
    for chart in (words.by_length(), words.by_frequency()):
        about = f"{chart.y} by {chart.x}"
        section.pictures.append(_picture(about, partial(draw_charts, charts=[chart])))
        rows = [[label, *(f"{bar:.3g}" for bar in bars)] for label, bars in chart.bars.items()]
        section.tables.append(PageTable(about, ["system", *chart.groups], rows))
    section.examples = words.examples()
    return section


def _attention(runs: Mapping[str, Run], sentences: Sequence[int]) -> Section:
    """Returns the attention of each run that has a checkpoint, sentence by sentence."""
    section, found = Section("Attention"), []
    without = [name for name, run in runs.items() if of_run(run.folder) is None]
    if without or not runs:
        section.left_out.append(f"there is no checkpoint of {', '.join(without) or 'any system'}")
    for name, run in runs.items():
        if name not in without:
            try:
                found.append(_attention_of(name, run, sentences))
            except UserError as error:
                section.left_out.append(_without_folders(error))
    section.pictures = list(chain(*zip(*found, strict=True)))
    return section


def _attention_of(name: str, run: Run, sentences: Sequence[int]) -> list[Picture]:
    """Returns the attention of a run, one picture a sentence.

    Raises:
        UserError: the text is not here, or the model has no attention
    """
    (trained,) = find_runs([run.path.parent], names=[name])
    if not any(trained.data.glob(f"{run.decoding.subset}.*")):
        raise UserError(f"{name}: its binarised test set is not here")
    subject = Subject(trained, subset=run.decoding.subset)
    pictures = []
    for number in sentences:
        found = {name: matrix.measure(subject, index=number)}
        about = f"sentence {number}, {name}: attention in the last layers"
        pictures.append(_picture(about, partial(matrix.draw, results=found)))
    return pictures
