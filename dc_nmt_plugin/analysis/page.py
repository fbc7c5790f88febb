"""Writes one page with every applicable analysis: tables, figures, and commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from ..errors import UsageError, UserError
from ..figure import DARK, new_figure, save
from ..files import write_json, write_text
from ..table import filled_columns
from .base import Analysis, Report, Results, Table
from .curves import Curves
from .loop import Collector, force
from .registry import ANALYSES
from .subject import Place, Subject

TITLE = "<title>Inside the models</title>"
SHORT = 12  # rows of tables that are shown at once; longer ones open at a click
STYLE = f"""
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }}
h1 {{ font-size: 1.5rem; }} h2 {{ font-size: 1.15rem; margin-top: 2.5rem; }}
figure {{ margin: 1rem 0; }} img {{ max-width: 100%; height: auto; }}
nav {{ columns: 14rem; }} figcaption {{ font-size: .85rem; }}
.scroll {{ overflow-x: auto; }} table {{ border-collapse: collapse; font-size: .85rem; }}
caption {{ text-align: left; padding: .3rem 0; }}
th, td {{ padding: .15rem .6rem; text-align: left; }}
thead th {{ border-bottom: 1px solid #444; }} code {{ background: #8882; padding: .1rem .3rem; }}
@media (prefers-color-scheme: dark) {{
  body {{ color: #e6e6e6; background: #1e2129; }} a {{ color: #7aa7ff; }} img {{ {DARK} }}
}}
"""


@dataclass
class Section:
    """Holds one analysis of all runs that it applies to.

    Attributes:
        report: the analysis
        results: of the runs it applies to
        left_out: the reasons why other runs are left out
    """

    report: Report
    results: Results = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def analyse_all(
    places: Sequence[Place],
    given: argparse.Namespace,
    flags: Sequence[str],
    progress: Callable[[str, str], None],
) -> list[Section]:
    """Runs every analysis of every run.

    Args:
        places: the runs
        given: ``subset``, ``sentences``, and options of single analyses that replace their defaults
        flags: of ``fairseq-generate``
        progress: called with the run and the next analysis
    """
    sections = [Section(kind(_options(kind, given))) for kind in ANALYSES.values()]
    for place in places:
        subject = Subject(place, given.subset, given.sentences, flags)
        _analyse(subject, sections, progress)
        for section in sections:
            if isinstance(section.report, Curves):
                _try(section, place.label, partial(section.report.measure, place.folder))
    return sections


def _analyse(
    subject: Subject, sections: Sequence[Section], progress: Callable[[str, str], None]
) -> None:
    """Runs everything that needs the model, with one forced decoding for each forced text."""
    todo: list[tuple[Section, Analysis, Collector | None]] = []
    for section in sections:
        report = section.report
        if not isinstance(report, Analysis):
            continue
        why = report.missing(subject)
        if why is not None:
            section.left_out.append(f"{subject.label}: {why}")
            continue
        try:
            todo.append((section, report, report.collector(subject)))
        except UserError as error:
            section.left_out.append(f"{subject.label}: {error}")
    forced = [(report.text, collector) for _, report, collector in todo if collector is not None]
    for text in dict.fromkeys(text for text, _ in forced):
        progress(subject.label, f"forced decoding ({text})")
        force(subject, [collector for own, collector in forced if own == text], text)
    for section, report, collector in todo:
        progress(subject.label, report.name)
        found = collector.result() if collector is not None else {}
        _try(section, subject.label, partial(report.finish, subject, found))


def _try(section: Section, label: str, measure: Callable[[], dict[str, Any]]) -> None:
    try:
        section.results[label] = measure()
    except UserError as error:
        section.left_out.append(f"{label}: {error}")


def _options(kind: type[Report], given: argparse.Namespace) -> argparse.Namespace:
    """Returns the default options of an analysis, with the given values."""
    parser = argparse.ArgumentParser()
    kind.options(parser)
    options = parser.parse_args([])
    for name, value in vars(given).items():
        if value is not None and hasattr(options, name):
            setattr(options, name, value)
    return options


def check_folder(folder: Path) -> None:
    """Checks the folder before the analyses, which take minutes.

    Raises:
        UserError: the folder holds another page
    """
    page = folder / "index.html"
    if page.exists() and TITLE not in page.read_text("utf-8", errors="replace"):
        raise UsageError(
            f"--html {folder}: has an index.html that is no page of dc-nmt analyze all; choose "
            "another folder."
        )


def write_page(
    folder: Path, sections: Sequence[Section], about: str, command: Callable[[Section], str]
) -> Path:
    """Writes ``index.html``, and a PNG, an SVG and a JSON for every analysis.

    Args:
        folder: created if missing
        sections: from :func:`analyse_all`; a section that cannot be shown is emptied
        about: description of the data
        command: returns the command line of one section

    Returns:
        the page

    Raises:
        UserError: the folder cannot be written, or holds another page
    """
    check_folder(folder)
    parts = []
    for section in sections:
        if section.results:
            name = section.report.name
            figure = new_figure()
            try:
                text = _section(section, command(section))
                section.report.draw(figure, section.results)
            except UserError as error:  # runs that cannot be compared
                section.left_out.append(str(error))
                section.results = {}
                continue
            save(figure, folder / name)
            write_json(folder / f"{name}.json", {"analysis": name, "runs": section.results})
            parts.append(text)
    without = [
        f"<li>{escape(section.report.title)}: {escape(' '.join(section.left_out))}</li>"
        for section in sections
        if not section.results
    ]
    listed = [each.report for each in sections if each.results]
    contents = "".join(f'<li><a href="#{r.name}">{escape(_title(r))}</a></li>' for r in listed)
    body = "\n".join([f"<nav><ul>{contents}</ul></nav>", *parts])
    if without:
        body += f"\n<h2>What does not apply</h2>\n<ul>{''.join(without)}</ul>"
    page = folder / "index.html"
    write_text(
        page,
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">'
        f"{TITLE}<style>{STYLE}</style></head>\n"
        f"<body><h1>Inside the models</h1><p>{escape(about)}</p>\n{body}\n</body></html>\n",
    )
    return page


def _section(section: Section, command: str) -> str:
    report = section.report
    shown = report.tables(section.results)
    tables = "\n".join(_table(table) for table in shown)
    open_ = " open" if sum(len(table.rows) for table in shown) <= SHORT else ""
    left_out = "".join(f"<p>{escape(why)}</p>" for why in section.left_out)
    return (
        f'<h2 id="{report.name}">{escape(_title(report))}</h2>\n<p>{escape(report.source)}. '
        f"<code>{escape(command)}</code></p>\n"
        f'<figure><img src="{report.name}.svg" alt="{escape(report.title)}"></figure>\n'
        f"<details{open_}><summary>Numbers (<a href='{report.name}.json'>all, as JSON</a>)"
        f"</summary>\n{tables}</details>\n{left_out}"
    )


def _title(report: Report) -> str:
    return report.title[0].upper() + report.title[1:]


def _table(table: Table) -> str:
    header, rows = filled_columns(table.header, table.rows)
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows
    )
    return (
        f'<div class="scroll"><table><caption>{escape(table.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>\n{lines}</tbody></table></div>"
        + "".join(f"<p>{escape(note)}</p>" for note in table.notes)
    )
