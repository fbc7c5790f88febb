"""Writes the page: gathers the parts, and fills the template ``page.html``."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
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
from ...laboratory.inference.trained_run import find_runs
from ...laboratory.plot import new_figure, write_figure
from ...runs.differences import NOT_GIVEN, differing, shown
from ...runs.finding import Run
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
class Part:
    """A section of the page; what is not there is left out, with a line that says why."""

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
    parts = [
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
        parts=parts,
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
    # each label names its fonts
    with matplotlib.rc_context({"svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"]}):
        write_figure(figure, written, "svg")
    data = base64.b64encode(written.getvalue()).decode()
    return Picture(about, f"data:image/svg+xml;base64,{data}")


def _named(runs: Mapping[str, Sequence[Run]]) -> dict[str, Run]:
    """Returns name → run: the row's label, with the seed of one of several; each run once."""
    named: dict[str, Run] = {}
    for label, of_row in runs.items():
        for run in of_row:
            if run.path not in [other.path for other in named.values()]:
                named[label if len(of_row) == 1 else f"{label} s{run.record.seed}"] = run
    return named


def _learning(runs: Mapping[str, Run], systems: Sequence[str]) -> Part:
    """Returns the learning curves of all runs in one picture."""
    part, found = Part("Learning curves"), {}
    for name, run in runs.items():
        try:
            found[name] = curves.measure(run.path.parent)
        except UserError as error:
            part.left_out.append(_without_folders(error))
    logged = {number for result in found.values() for number in result.curves}
    numbers = [number for number in CURVES if number in logged]
    if numbers:
        draw = partial(curves.draw, results=found, systems=systems, numbers=numbers)
        part.pictures.append(_picture("losses and BLEU against updates", draw))
    return part


def _settings(runs: Mapping[str, Sequence[Run]]) -> Part:
    """Returns the settings that differ from the baseline's, and what made each system."""
    part = Part("How the systems differ")
    settings: dict[str, dict[str, Any]] = {}
    for label, of_row in runs.items():
        for run in of_row[:1]:  # the others differ in the seed alone
            settings[label] = all_conditions(run) | full_search(run.decoding.search)
    if not settings:
        part.left_out.append("no run is here")
        return part
    baseline = next(iter(settings.values()))
    names = [found.name for other in settings.values() for found in differing(baseline, other)]
    rows = []
    for name in dict.fromkeys(names):
        values = [known.get(name, NOT_GIVEN) for known in settings.values()]
        rows.append([name, *("" if value is None else shown(value) for value in values)])
    made = [_made(runs[label]) for label in settings]
    for name in made[0]:
        if any(facts[name] for facts in made):
            rows.append([name, *(facts[name] for facts in made)])
    about = "settings that are not the same, and how the runs were made; empty: not recorded"
    part.tables.append(PageTable(about, ["", *settings], rows))
    return part


def _made(runs: Sequence[Run]) -> dict[str, str]:
    """Returns how the runs of a system were made: fact → its values, as recorded."""
    starts = [start for run in runs for start in run.record.starts]
    versions = [start.versions for start in starts]
    versions = versions or [run.record.training.versions for run in runs]
    values = {
        "training text": [(run.record.data.text or "")[:12] for run in runs],
        "commit": [(start.commit or "")[:12] for start in starts],
        "versions": [", ".join(map(" ".join, of_run.items())) for of_run in versions],
        "device": [run.record.training.device or "" for run in runs],
        "date": [(start.date or "")[:10] for start in starts],
    }
    return {name: "; ".join(dict.fromkeys(filter(None, of))) for name, of in values.items()}


def _words(systems: Sequence[ComparedSystem], metric: str) -> Part:
    """Returns the comparison of compare-mt."""
    part = Part("Words and sentences")
    if not systems:
        part.left_out.append("the text of the test set is not here")
        return part
    names = ", ".join(system.run.record.name if system.run else system.label for system in systems)
    part.about.append(f"One run of each system is compared by compare-mt: {names}.")
    words = Words(systems, METRICS[metric])
    for chart in (words.by_length(), words.by_frequency()):
        about = f"{chart.y} by {chart.x}"
        part.pictures.append(_picture(about, partial(draw_charts, charts=[chart])))
        rows = [[label, *(f"{bar:.3g}" for bar in bars)] for label, bars in chart.bars.items()]
        part.tables.append(PageTable(about, ["system", *chart.groups], rows))
    part.examples = words.examples()
    return part


def _attention(runs: Mapping[str, Run], sentences: Sequence[int]) -> Part:
    """Returns the attention of each run that has a checkpoint, sentence by sentence."""
    part = Part("Attention")
    without = [name for name, run in runs.items() if of_run(run.folder) is None]
    if without or not runs:
        part.left_out.append(f"there is no checkpoint of {', '.join(without) or 'any system'}")
    pictures: dict[int, list[Picture]] = {number: [] for number in sentences}
    for name in [name for name in runs if name not in without]:
        try:
            (trained,) = find_runs([runs[name].path.parent], names=[name])
            subset = runs[name].decoding.subset
            if not any(trained.data.glob(f"{subset}.*")):
                part.left_out.append(f"{name}: its binarised test set is not here")
                continue
            subject = Subject(trained, subset=subset)
            for number in sentences:
                about = f"sentence {number}, {name}: attention in the last layers"
                found = {name: matrix.measure(subject, index=number)}
                pictures[number].append(_picture(about, partial(matrix.draw, results=found)))
        except UserError as error:
            part.left_out.append(_without_folders(error))
    part.pictures = [picture for of_sentence in pictures.values() for picture in of_sentence]
    return part
