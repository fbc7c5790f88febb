"""``dc-nmt run``: a task from the raw text to scored models."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..errors import UsageError
from ..steps import Plan, Stage
from .parser import Parser, add_common, add_run, add_text, add_training, print_script, values_of
from .train import plan_of


def parser() -> Parser:
    parser = Parser(
        prog="dc-nmt run",
        usage="dc-nmt run TASK [ARCH …] [options] [flags of fairseq-train]",
        description="Runs a task from raw text to scores: dc-nmt prepare, then dc-nmt train and "
        "dc-nmt evaluate for each architecture, then a table. All other flags go to "
        "fairseq-train, such as --lr 1e-3.",
    )
    parser.add_argument("task", metavar="TASK", help="task; 'dc-nmt recipe list' lists all")
    about = "architectures; default: those of the recipe, else transformer_standard"
    parser.add_argument("archs", nargs="*", metavar="ARCH", help=about)
    add_common(parser)
    add_text(parser)
    add_run(parser)
    add_training(parser)
    return parser


def main(argv: Sequence[str]) -> int:
    args, flags = parser().parse_with_flags(argv)
    # to prepare the text may take hours: refuse invalid runs before
    plans = {arch: plan_of(args, flags, arch) for arch in _archs(args)}
    # by folder: an architecture with and without its default size is one run
    archs = {plan.run.folder: arch for arch, plan in plans.items()}
    bpe = {plan.settings.bpe for plan in plans.values()}
    *_, last = plans.values()
    plan = Plan(last.variables, _stages(args, flags, archs.values(), bpe))
    if args.dry_run:
        print_script(plan, "run", argv)
        return 0
    from ..recipes.execution import Progress, execute

    execute(plan, Progress())
    print()
    _print_table(archs)
    return 0


def _archs(args: argparse.Namespace) -> list[str]:
    from ..recipes.recipe import load

    archs: list[str] = args.archs or load(args.task).task.archs
    if args.name and len(archs) > 1:
        raise UsageError(
            f"--name: {args.name!r} is for one architecture; name one, or leave --name out"
        )
    return archs


def _stages(
    args: argparse.Namespace, flags: Sequence[str], archs: Iterable[str], bpe: Iterable[str]
) -> Iterator[Stage]:
    from ..recipes.preparation import TextOptions, plan_text
    from ..recipes.scoring import evaluation_stage

    _, text = plan_text(values_of(TextOptions, args, archs=(), bpe=tuple(bpe)))
    yield text
    for arch in archs:
        training = plan_of(args, flags, arch)  # again: now the longest sentences are known
        yield training.stage
        yield evaluation_stage(training.run, training.variables, args.seed)


def _print_table(folders: Iterable[Path]) -> None:
    from ..evaluation.collecting import collect
    from ..evaluation.table_text import format_results
    from ..runs.finding import Run
    from ..table import TEXT

    print(format_results(collect([Run.read(folder) for folder in folders]), TEXT))
