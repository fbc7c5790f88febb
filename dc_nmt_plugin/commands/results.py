"""``dc-nmt results``: finished runs in one table, beside what is published."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ..errors import UsageError, UserError
from ..evaluation.kept import keep_all
from ..evaluation.metrics import find_metrics
from ..evaluation.published import why_not
from ..evaluation.run_table import RunTable
from ..evaluation.run_table_text import format_run_table
from ..evaluation.runs import collect
from ..evaluation.side_by_side import format_side_by_side
from ..evaluation.speeds import Speeds
from ..files import write_text
from ..flags import setting_name
from ..runs.finding import Run, find_runs, is_run
from ..runs.records import record_of
from ..table import MARKDOWN
from .parser import Parser, add_forms, form_of, print_json

STORED = "results.json"
# flags of the table alone, and flags that a stored table cannot apply
OF_TABLES = (
    *("--baseline", "--name", "--over-seeds", "--speeds", "--out", "--keep", "--with-model"),
    "--update-readme",
)
NEED_RUNS = (*OF_TABLES[:-1], "--metric", "--subset")
BEGIN, END = "<!-- results -->", "<!-- /results -->"


def parser() -> argparse.ArgumentParser:
    """Returns the command's options."""
    parser = Parser(
        prog="dc-nmt results",
        description="Finished runs in one table: parameters, speed, score, difference to the "
        "baseline and its significance, and the published numbers.",
    )
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER",
        help="runs, folders of runs, or examples/TASK: its results.json, else runs/TASK; beside "
        "them hypotheses of other toolkits (plain text, or output of fairseq-generate)",
    )  # fmt: skip
    parser.add_argument("--baseline", metavar="LABEL", help="default: the first plain Transformer")
    parser.add_argument(
        "--subset", default="test", metavar="SET",
        help="runs as they translated it: test (the default), valid, or a further test set",
    )  # fmt: skip
    parser.add_argument("--metric", help="default: the paper's, or 13a (zh: zh)")
    parser.add_argument(
        "--name", action="append", default=[], metavar="RUN=LABEL", help="call a run otherwise"
    )
    parser.add_argument(
        "--over-seeds", action="store_true",
        help="one row for runs that differ in the seed alone: mean and standard deviation. "
        "The difference is over the seeds that the baseline also has, with interval and p over "
        "sentences and seeds",
    )  # fmt: skip
    parser.add_argument(
        "--speeds", type=Path, metavar="FILE",
        help="speeds of dc-nmt bench RUN… --json, not the runs' own, which other programs slowed",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="FILE", help="store the numbers, no text")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR",
        help="copy the runs there without their models: what this table, dc-nmt compare and "
        "dc-nmt analyze curves are made of, 80 to 90 kB a run",
    )  # fmt: skip
    parser.add_argument(
        "--with-model", action="store_true",
        help="with --keep: copy the model too, in half precision, with dictionaries and "
        "segmentation. dc-nmt translate and analyze work with the copy",
    )  # fmt: skip
    parser.add_argument(
        "--update-readme", action="store_true",
        help=f"write the table into README.md beside the stored numbers, between {BEGIN} and {END}",
    )  # fmt: skip
    parser.add_argument(
        "--why", action="store_true",
        help="say for each run which published numbers are nearest, and in what they differ",
    )  # fmt: skip
    add_forms(parser, "markdown", "latex").add_argument(
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
    unfit = _given(args, *NEED_RUNS) if stored else []
    readme = _readme(args, stored)
    if stored and not unfit:
        table = RunTable.read(stored)
    else:
        if stored:
            raise UserError(
                f"{args.folders[0]}: shows what {stored} holds; for "
                f"{' and '.join(unfit)} name the folders of the runs"
            )
        found = _of_subset(args)
        table = _collect(args, found)
        if args.keep:
            from ..recipes.recipe import tasks

            prepared = {path.stem for path, _ in tasks().values()}
            for folder in keep_all(found, args.keep, prepared, args.with_model):
                print(f"kept: {folder}", file=sys.stderr)
    if args.out:
        table.save(args.out)
    if readme:
        update_readme(readme, table)
    if args.json:
        print_json(asdict(table))
    else:
        print(format_run_table(table, form_of(args)))
    return 0


def _given(args: argparse.Namespace, *flags: str) -> list[str]:
    """Returns the given flags that differ from their defaults."""
    default = parser().get_default
    names = {flag: setting_name(flag) for flag in flags}
    return [flag for flag, name in names.items() if getattr(args, name) != default(name)]


def _check(args: argparse.Namespace) -> None:
    """
    Raises:
        UserError: a flag would have no effect
    """
    if args.with_model and not args.keep:
        raise UsageError("--with-model: goes with --keep")
    if args.why:
        form, unused = "--why", [*OF_TABLES, "--json", "--markdown", "--latex", "--examples"]
    elif args.examples is not None:
        form, unused = "--examples", [*OF_TABLES, "--metric"]
    else:
        form, unused = "", []
    of_runs = [] if not _files(args) else _given(args, "--why", "--examples", "--over-seeds")
    if of_runs:
        raise UsageError(f"{of_runs[0]}: goes with runs, and {_files(args)[0]} is a file")
    given = _given(args, *unused)
    if given:
        raise UsageError(f"{', '.join(given)}: of the table, which {form} does not print")


def format_why(args: argparse.Namespace) -> str:
    """Returns, for each run, the nearest published numbers and the differing settings."""
    blocks = []
    for run in _of_subset(args):
        metric = find_metrics("--metric", args.metric)[0].name if args.metric else None
        metric = metric or run.decoding.paper_metric or "mteval-v13a"
        lines = why_not(run, metric) or [f"nothing by {metric} is published for this task"]
        label = ", ".join(filter(None, (run.record.name, run.decoding.way)))
        blocks.append("\n".join([label, *(f"  {line}" for line in lines)]))
    return "\n\n".join(blocks)


def _stored(folders: Sequence[Path]) -> Path | None:
    """Returns the stored table of a folder, such as an example's, unless it lacks runs."""
    path = folders[0] / STORED
    if len(folders) > 1 or not path.is_file():
        return None
    below = (record_of(folder) for folder in folders[0].iterdir() if folder.is_dir())
    runs = [record for record in below if record and any(d.scores for d in record.decodings)]
    known = {Path(row.run).name for row in RunTable.read(path).rows} if runs else set()
    return path if all(known & {run.name, run.system} for run in runs) else None


def _collect(args: argparse.Namespace, found: Sequence[Run]) -> RunTable:
    names = {}
    for text in args.name:
        folder, equals, label = text.partition("=")
        if not (equals and folder and label):
            raise UsageError(f"--name: '{text}' is not RUN=LABEL")
        names[folder] = label
    metric = find_metrics("--metric", args.metric)[0] if args.metric else None
    speeds = Speeds.read(args.speeds) if args.speeds else None
    return collect(found, args.baseline, metric, names, args.over_seeds, speeds, _files(args))


def _files(args: argparse.Namespace) -> list[Path]:
    """Returns the files of hypotheses among the arguments."""
    return [path for path in args.folders if path.is_file() and not is_run(path)]


def _of_subset(args: argparse.Namespace) -> list[Run]:
    """Returns the translations of the requested subset; names runs without any."""
    folders = [folder for folder in args.folders if folder not in _files(args)]
    if not folders:
        raise UsageError(f"{args.folders[0]}: is no run; dc-nmt score and compare take files alone")
    finished, unfinished = find_runs([_runs_of_task(folder) for folder in folders])
    for folder in unfinished:
        print(f"not finished, left out: {folder}", file=sys.stderr)
    found = [run for run in finished if run.decoding.subset == args.subset]
    if not found:
        there = sorted({run.decoding.subset for run in finished})
        raise UsageError(f"--subset {args.subset}: no run has it; there is {', '.join(there)}")
    return found


def _runs_of_task(folder: Path) -> Path:
    """Returns ``runs/TASK`` for ``examples/TASK``; other folders as they are."""
    resolved = folder.resolve()
    if resolved.parent.name != "examples" or not folder.is_dir():
        return folder
    runs = resolved.parent.parent / "runs" / resolved.name
    if not runs.is_dir():
        raise UserError(f"{folder}: neither {folder / STORED} nor runs in {runs}")
    return runs


def _readme(args: argparse.Namespace, stored: Path | None) -> Path | None:
    """Returns the README that ``--update-readme`` will write; checked before the bootstrap.

    Raises:
        UserError: there is no place for the table
    """
    if not args.update_readme:
        return None
    folder = stored or args.out
    if folder is None:
        raise UsageError(
            "--update-readme: no table; give examples/TASK with a results.json, or --out"
        )
    path: Path = folder.parent / "README.md"
    _around_marks(path)
    return path


def update_readme(path: Path, table: RunTable) -> None:
    """Puts the Markdown table between the marks.

    Raises:
        UserError: the file or the marks are missing.
    """
    before, after = _around_marks(path)
    write_text(path, f"{before}{readme_block(table)}{after}")


def _around_marks(path: Path) -> tuple[str, str]:
    """Returns the text before and after the marks; raises UserError if they are missing."""
    text = path.read_text("utf-8") if path.is_file() else ""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise UserError(f"{path}: needs the line {BEGIN} and, after it, the line {END} once each")
    before, _, rest = text.partition(BEGIN)
    return before, rest.partition(END)[2]


def readme_block(table: RunTable) -> str:
    """Returns the text of a README from mark to mark."""
    return f"{BEGIN}\n\n{format_run_table(table, MARKDOWN)}\n\n{END}"
