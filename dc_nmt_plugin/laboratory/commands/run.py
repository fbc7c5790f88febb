"""``dc-nmt run``: a task from the raw text to scored models."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UsageError
from ..steps import Grid, GridRun
from .parser import Parser, add_common, add_run, add_text, add_training, values_of
from .runs import add_estimate, add_grid, do_runs, plan_of, seeds_of, table_command

if TYPE_CHECKING:
    from ..recipes.plan import TrainPlan


def parser() -> Parser:
    parser = Parser(
        prog="dc-nmt run",
        usage="dc-nmt run TASK [ARCH …] [options] [flags of fairseq-train]",
        description="Runs a task from raw text to scores: dc-nmt prepare, then dc-nmt train and "
        "dc-nmt evaluate for each architecture and seed, then a table. All other flags go to "
        "fairseq-train, such as --lr 1e-3.",
    )
    parser.add_argument("task", metavar="TASK", help="task; 'dc-nmt recipe list' lists all")
    about = "architectures; default: those of the recipe, else transformer_standard"
    parser.add_argument("archs", nargs="*", metavar="ARCH", help=about)
    add_common(parser)
    add_text(parser)
    add_run(parser)
    add_training(parser)
    add_estimate(parser)
    add_grid(parser)
    return parser


def main(argv: Sequence[str]) -> int:
    args, flags = parser().parse_with_flags(argv)
    from ..recipes.preparation import TextOptions, plan_text

    # an architecture with and without its default size is one run
    plans: dict[Path, TrainPlan] = {}
    runs: dict[Path, GridRun] = {}
    seeds = seeds_of(args)
    for seed in seeds:
        for arch in _archs(args):
            # to prepare the text may take hours: refuse invalid runs before
            planned = plan_of(args, flags, arch, seed)
            plans[planned.run.folder] = planned
            runs[planned.run.folder] = _grid_run(planned)
    bpe = sorted({planned.settings.bpe for planned in plans.values()})
    text = plan_text(values_of(TextOptions, args, archs=(), bpe=tuple(bpe)))
    grid = Grid(list(runs.values()), [text], table=table_command(list(runs), seeds))
    do_runs(args, ["run", *argv], grid, list(plans.values()))
    return 0


def _archs(args: argparse.Namespace) -> list[str]:
    from ..recipes.recipe import load

    archs: list[str] = args.archs or load(args.task).task.archs
    if args.name and len(archs) > 1:
        raise UsageError(
            f"--name: {args.name!r} is for one architecture; name one, or leave --name out"
        )
    return archs


def _grid_run(planned: TrainPlan) -> GridRun:
    from ..recipes.done import has_scores
    from ..recipes.scoring import evaluation_command, plan_decoding

    decoding = plan_decoding(planned.experiment)
    evaluation = evaluation_command(planned.experiment, decoding, hides_gpus=not planned.gpus)
    return GridRun(
        planned.run.folder,
        planned.experiment.seed,
        (planned.command, evaluation),
        lambda: planned.is_done() and has_scores(decoding),
        planned.settings.updates,
        planned.settings.most_gpus,
    )
