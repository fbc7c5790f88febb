"""``dc-nmt results``: finished runs in one table, beside what is published."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ..errors import UserError
from ..evaluation.metrics import find_metrics
from ..evaluation.published import why_not
from ..evaluation.run import Run
from ..evaluation.run_table import RunRow, RunTable
from ..evaluation.runs import collect, find_runs
from ..evaluation.side_by_side import format_side_by_side
from ..evaluation.significance import RESAMPLES
from ..evaluation.speeds import Speeds
from ..files import replacing
from ..table import format_table, latex_table, markdown_table, number_cell
from .parser import Parser

STORED = "results.json"
# metric → its column's heading, and its name below the table
HEADINGS = {
    "mteval-v13a-lc": ("lower-cased", "BLEU lc"),
    "zh-lc": ("lower-cased", "BLEU lc"),
    "chrf": ("chrF", "chrF"),
}
# flags that only the table knows, and those that a stored one cannot follow
OF_TABLES = ("--baseline", "--name", "--over-seeds", "--speeds", "--save", "--update-readme")
NEED_RUNS = (*OF_TABLES[:-1], "--metric", "--subset")
BEGIN, END = "<!-- results -->", "<!-- /results -->"


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    parser = Parser(
        prog="dc-nmt results",
        description="Finished runs in one table: parameters, speed, score, difference to the "
        "baseline and its significance, and the published numbers.",
    )
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER",
        help="runs, folders of runs, or examples/TASK: its results.json, else runs/TASK",
    )  # fmt: skip
    parser.add_argument("--baseline", metavar="LABEL", help="default: the first plain Transformer")
    parser.add_argument(
        "--subset", default="test", metavar="SET",
        help="runs as they translated it: test (the default), valid, or a further test set",
    )  # fmt: skip
    parser.add_argument("--metric", help="default: the paper's, or 13a (zh: zh)")
    parser.add_argument(
        "--name", action="append", default=[], metavar="FOLDER=LABEL", help="call a run otherwise"
    )
    parser.add_argument(
        "--over-seeds", action="store_true",
        help="a row for runs whose names differ in -sSEED alone: mean, standard deviation, and "
        "the bootstrap of the means",
    )  # fmt: skip
    parser.add_argument(
        "--speeds", type=Path, metavar="FILE",
        help="speeds of dc-nmt bench RUN… --json, not the runs' own, which other programs slowed",
    )  # fmt: skip
    parser.add_argument("--save", type=Path, metavar="FILE", help="store the numbers, no text")
    parser.add_argument(
        "--update-readme", action="store_true",
        help=f"write the table into README.md beside the stored numbers, between {BEGIN} and {END}",
    )  # fmt: skip
    parser.add_argument(
        "--why", action="store_true",
        help="say for each run which published numbers are nearest, and in what they differ",
    )  # fmt: skip
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the stored form")
    form.add_argument("--markdown", action="store_true")
    form.add_argument("--latex", action="store_true")
    form.add_argument(
        "--examples", type=int, metavar="N",
        help="the runs side by side instead: scores with their confidence, and N sentences",
    )  # fmt: skip
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt results``."""
    args = parser().parse_args(argv)
    _check(args)
    if args.why:
        print(format_why(args))
        return 0
    if args.examples is not None:
        print(format_side_by_side(_of_subset(args), args.examples))
        return 0
    stored = _stored(args.folders)
    if stored and not _given(args, *NEED_RUNS):
        table = RunTable.read(stored)
    else:
        if stored:
            raise UserError(
                f"{args.folders[0]}: shows what {stored} holds; for "
                f"{' and '.join(_given(args, *NEED_RUNS))} name the folders of the runs"
            )
        table = _collect(args)
    if args.save:
        table.save(args.save)
    if args.update_readme:
        home = stored or args.save
        if home is None:
            raise UserError("--update-readme needs examples/TASK with a results.json, or --save")
        update_readme(home.parent / "README.md", table)
    if args.json:
        print(json.dumps(asdict(table), indent=2))
    elif args.markdown:
        print(format_markdown(table))
    elif args.latex:
        print(format_latex(table))
    else:
        print(format_text(table))
    return 0


def _given(args: argparse.Namespace, *flags: str) -> list[str]:
    """Those of these flags that say something else than their defaults."""
    values = ((flag, flag[2:].replace("-", "_")) for flag in flags)
    return [flag for flag, name in values if getattr(args, name) != parser().get_default(name)]


def _check(args: argparse.Namespace) -> None:
    """
    Raises:
        UserError: a flag would say nothing
    """
    if args.why:
        form, unused = "--why", [*OF_TABLES, "--json", "--markdown", "--latex", "--examples"]
    elif args.examples is not None:
        form, unused = "--examples", [*OF_TABLES, "--metric"]
    else:
        return
    given = _given(args, *unused)
    if given:
        raise UserError(f"{', '.join(given)}: of the table, which {form} does not print")


def format_why(args: argparse.Namespace) -> str:
    """For each run, the nearest published numbers and in what they are of something else."""
    runs = [Run.read(path) for path in _of_subset(args)]
    blocks = []
    for run in runs:
        metric = find_metrics("--metric", args.metric)[0].name if args.metric else None
        metric = metric or run.result.paper_metric or "mteval-v13a"
        lines = why_not(run, metric) or [f"nothing by {metric} is published for this task"]
        label = ", ".join(filter(None, (run.folder.name, run.decoding)))
        blocks.append("\n".join([label, *(f"  {line}" for line in lines)]))
    return "\n\n".join(blocks)


def _stored(folders: Sequence[Path]) -> Path | None:
    path = folders[0] / STORED
    return path if len(folders) == 1 and path.is_file() else None


def _collect(args: argparse.Namespace) -> RunTable:
    names = {}
    for text in args.name:
        folder, equals, label = text.partition("=")
        if not (equals and folder and label):
            raise UserError(f"--name: '{text}' is not FOLDER=LABEL")
        names[folder] = label
    metric = find_metrics("--metric", args.metric)[0] if args.metric else None
    found = _of_subset(args)
    speeds = Speeds.read(args.speeds) if args.speeds else None
    return collect(found, args.baseline, metric, names, args.over_seeds, speeds)


def _of_subset(args: argparse.Namespace) -> list[Path]:
    """Result files of runs on what was asked for; runs that have none at all are named."""
    finished, unfinished = find_runs([_runs_of_task(folder) for folder in args.folders])
    for folder in unfinished:
        print(f"not finished, left out: {folder}", file=sys.stderr)
    found = [path for path in finished if Run.read(path).subset == args.subset]
    if not found:
        there = sorted({Run.read(path).subset for path in finished})
        raise UserError(f"--subset {args.subset}: no run has it; there is {', '.join(there)}")
    return found


def _runs_of_task(folder: Path) -> Path:
    """``runs/TASK`` for ``examples/TASK``; other folders as they are."""
    resolved = folder.resolve()
    if resolved.parent.name != "examples" or not folder.is_dir():
        return folder
    runs = resolved.parent.parent / "runs" / resolved.name
    if not runs.is_dir():
        raise UserError(f"{folder}: neither {folder / STORED} nor runs in {runs}")
    return runs


def format_text(table: RunTable) -> str:
    """The table for a terminal, signatures and baseline speeds below it."""
    return f"{format_table(*_cells_of(table))}\n\n" + "\n".join(_notes(table))


def format_latex(table: RunTable) -> str:
    """The table for LaTeX."""
    notes = "\n".join(f"% {note}" for note in _notes(table))
    return f"{notes}\n{latex_table(*_cells_of(table))}"


def format_markdown(table: RunTable) -> str:
    """The table for a README."""
    header, rows = _cells_of(table)
    coded = [[f"`{row[0]}`", f"`{row[1]}`" if row[1] else "", *row[2:]] for row in rows]
    signatures = {text: f"`{text}`" for text in table.signatures.values()}
    notes = "\n".join(f"- {note}" for note in _notes(table, signatures))
    return f"{markdown_table(header, coded)}\n\n{notes}"


def update_readme(path: Path, table: RunTable) -> None:
    """Put the Markdown table between the marks.

    Raises:
        UserError: the file or the marks are missing.
    """
    text = path.read_text("utf-8") if path.is_file() else ""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise UserError(f"{path}: needs the line {BEGIN} and, after it, the line {END} once each")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    with replacing(path) as temporary:
        temporary.write_text(f"{before}{readme_block(table)}{after}", "utf-8")


def readme_block(table: RunTable) -> str:
    """What stands in a README from mark to mark."""
    return f"{BEGIN}\n\n{format_markdown(table)}\n\n{END}"


def _cells_of(table: RunTable) -> tuple[list[str], list[list[str]]]:
    baseline = table.rows[0]
    others = list(dict.fromkeys(name for row in table.rows for name in row.scores))
    score = {"chrf": "chrF", "ter": "TER"}.get(table.metric, "BLEU")
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
        "difference",
        "p",
        f"published {score}",
        "to published",
    ]
    return header, [_cells(row, baseline, table.metric, others) for row in table.rows]


def _cells(row: RunRow, baseline: RunRow, metric: str, others: Sequence[str]) -> list[str]:
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
        number_cell(row.difference, "+.2f"),
        number_cell(row.p_value, ".3f"),
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
    of_means = ", of the means over seeds" if several else ""
    if several:
        notes.append("±: standard deviation over the seeds")
    if len(table.rows) > 1:
        notes.append(
            f"difference and p: against {baseline.label}, paired bootstrap of sacreBLEU, "
            f"{RESAMPLES:,} resamples{of_means}"
        )
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
    if any(row.published_metric not in (None, table.metric) for row in table.rows):
        notes.append("to published: our score by the metric in brackets minus the published one")
    places = dict.fromkeys(row.published_place for row in table.rows if row.published_place)
    return notes + [f"published: {place}" for place in places]


def _relative(value: float | None, one: float | None) -> str:
    return f"{value / one:.2f}" if value and one else ""
