"""``dc-nmt recipe``: the published tasks, as ``scripts/prepare.sh``, ``train.sh`` and
``evaluate.sh`` use them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from ..papers.tasks import published_scores, tasks
from ..recipes.recipe import Recipe, load
from ..table import format_table

PLANS = ("data", "run", "evaluation")


def main(argv: Sequence[str]) -> int:
    """``dc-nmt recipe COMMAND …``."""
    words = list(argv)
    if words[:1] == ["plan"]:  # what follows belongs to the scripts
        return _plan(words[1:])
    args = _parser().parse_args(words)
    run = {"list": _list, "published": _published, "text": _text, "clean": _clean}[args.command]
    return run(args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dc-nmt recipe", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="every task, with its published numbers")
    published = commands.add_parser("published", help="a task's published numbers, as Markdown")
    published.add_argument("task")
    commands.add_parser("plan", help="data|run|evaluation …: the scripts' shell variables")
    text = commands.add_parser("text", help="fetch, verify, tokenise and split a task's text")
    text.add_argument("task")
    text.add_argument("--to", required=True, type=Path, metavar="DIR", help="where it is written")
    text.add_argument("--work", required=True, type=Path, metavar="DIR", help="kept between runs")
    text.add_argument("--raw", type=Path, metavar="DIR", help="files that are already here")
    text.add_argument(
        "--downloads",
        type=Path,
        metavar="DIR",
        default=Path(os.environ.get("DC_NMT_DOWNLOADS", "runs/downloads")),
        help="where fetched files are kept; default DC_NMT_DOWNLOADS, else %(default)s",
    )
    text.add_argument("--sample", type=int, metavar="N", help="about N training pairs only")
    text.add_argument(
        "--any-counts", action="store_true", help="go on where numbers of lines are not published"
    )
    clean = commands.add_parser("clean", help="drop long and uneven training pairs after BPE")
    clean.add_argument("folder", type=Path)
    clean.add_argument("languages", nargs=2, metavar="LANG")
    clean.add_argument("max_tokens", type=int)
    clean.add_argument("ratio", type=float)
    return parser


def _plan(argv: Sequence[str]) -> int:
    from ..recipes.plan import plan_data, plan_evaluation, plan_run
    from ..recipes.words import shell

    if not argv or argv[0] not in PLANS:
        raise UserError(f"plan: choose one of {', '.join(PLANS)}")
    plans = dict(zip(PLANS, (plan_data, plan_run, plan_evaluation), strict=True))
    print(shell(plans[argv[0]](argv[1:])))
    return 0


def _list(_: argparse.Namespace) -> int:
    rows = []
    for name, (path, direction) in tasks().items():
        recipe = Recipe(path, direction)
        scores = [score for score, _ in published_scores(path, direction).values()]
        span = f"{min(scores):.2f} to {max(scores):.2f}" if scores else ""
        rows.append((name, recipe.title, str(len(scores) or ""), span))
    print(format_table(("task", "what", "published", "scores"), rows))
    return 0


def _published(args: argparse.Namespace) -> int:
    from ..papers.tables import published_tables

    print(published_tables(load(args.task).path) or "no paper of this project has this task")
    return 0


def _text(args: argparse.Namespace) -> int:
    from ..recipes.sources import Sources
    from ..recipes.text import make_text, say_disk

    recipe = load(args.task)
    sources = Sources(recipe, args.raw, args.downloads)
    say_disk(recipe, sources, args.work, args.sample)
    make_text(recipe, sources, args.work, args.to, args.sample, args.any_counts)
    return 0


def _clean(args: argparse.Namespace) -> int:
    from ..recipes.pieces import clean_pieces

    first, second = args.languages
    before, after = clean_pieces(args.folder, (first, second), args.max_tokens, args.ratio)
    print(f"{after:,} of {before:,} training pairs kept")
    return 0
