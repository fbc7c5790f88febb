"""``dc-nmt run``: a published task from the raw text to scored models."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import UsageError
from ..steps import Pipeline, stoppable
from .evaluate import evaluate
from .parser import Parser, number, use_threads
from .prepare import prepare
from .recipe_options import add_common, add_run, add_text, add_training, values_of
from .train import options_of, train


class _Schedule(argparse.Action):
    """Keeps a flag of fairseq-train under its own name, in the order of the command line."""

    def __call__(self, _: Any, args: argparse.Namespace, value: Any, flag: Any = None) -> None:
        args.schedule = (*args.schedule, str(self.const), str(value))


def parser() -> Parser:
    """Returns the options of the command."""
    parser = Parser(
        prog="dc-nmt run",
        usage="dc-nmt run TASK [ARCH …] [options] [flags of fairseq-train]",
        description=(
            "Runs a task from raw text to scores: dc-nmt prepare, then dc-nmt train "
            "and dc-nmt evaluate for each architecture, then a table. All other flags go to "
            "fairseq-train."
        ),
    )
    parser.add_argument("task", metavar="TASK", help="task; 'dc-nmt recipe list' lists all")
    parser.add_argument(
        "archs",
        nargs="*",
        metavar="ARCH",
        help=("architectures; default: those of the recipe, else transformer_standard"),
    )
    add_common(parser)
    add_text(parser)
    add_run(parser)
    add_training(parser)
    parser.add_argument(
        "--lr", action=_Schedule, const="--lr", metavar="RATE", help="peak learning rate"
    )
    parser.add_argument(
        "--warmup-updates", action=_Schedule, const="--warmup-updates", type=number(1),
        metavar="N", help="updates to reach the peak learning rate",
    )  # fmt: skip
    parser.set_defaults(schedule=())
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt run``."""
    args, flags = parser().parse_with_flags(argv)
    use_threads(args)
    from ..recipes.recipe import load

    recipe = load(args.task)
    archs = args.archs or recipe.task.archs
    if args.name and len(archs) > 1:
        raise UsageError(
            f"--name: {args.name!r} is for one architecture; name one, or leave --name out"
        )
    from ..recipes.options import TextOptions
    from ..recipes.run_plan import plan_run, plan_training
    from ..recipes.settings import settings_of

    args.arch = ""  # each run has its own
    options, training = options_of(args, flags)
    # an architecture with and without its default size is one run
    planned = {}
    for arch in archs:
        run = replace(options, arch=arch)
        experiment = plan_run(run)
        planned[experiment.folder] = (run, experiment)
    runs = [run for run, _ in planned.values()]
    for run, experiment in planned.values():
        if flags or not (experiment.binarised / ".stamp").is_file():
            plan = plan_training(run, training)  # refuses invalid runs before all work
            if flags:
                plan.training.check_flags()
    first = not training.machines.node_rank or args.dry_run  # only the first machine evaluates
    pipeline = Pipeline(args.dry_run)
    with stoppable():
        needed = (settings_of(recipe, run.arch, run.size, run.like).bpe for run in runs)
        text = values_of(TextOptions, args, archs=(), bpe=tuple(dict.fromkeys(needed)))
        prepare(pipeline, text, show=False)
        for run in runs:
            code = train(pipeline, run, training)
            if not first:
                if code:
                    return code
                continue
            evaluate(pipeline, run)
    if first and not args.dry_run:
        from ..evaluation.run_table_text import EXAMPLES, format_side_by_side

        print()
        print(format_side_by_side(list(planned), EXAMPLES))
    return 0
