"""``dc-nmt run``: a task from the raw text to scored models."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UsageError
from ...steps import Grid, GridRun, Plan, Stage, dc_nmt, with_seed
from .parser import (
    Parser,
    add_common,
    add_grid,
    add_run,
    add_text,
    add_training,
    do_runs,
    seeds_of,
    table_line,
    values_of,
    words_of_options,
)
from .train import plan_of

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
    add_grid(parser)
    return parser


def main(argv: Sequence[str]) -> int:
    options = parser()
    args, flags = options.parse_with_flags(argv)
    from ..recipes.preparation import TextOptions, plan_text

    training_runs: dict[Path, TrainPlan] = {}
    runs: dict[Path, GridRun] = {}  # an architecture with and without its default size is one run
    folders: dict[Path, str] = {}  # → word of a plan
    bpe = set()
    seeds = seeds_of(args)
    for seed in seeds:
        for arch in _archs(args):
            # to prepare the text may take hours: refuse invalid runs before
            planned = plan_of(args, flags, arch, seed)
            words = ["run", args.task, arch, *words_of_options(options, args)]
            words += ["--seed", str(seed), "--", *flags]
            folder = planned.run.folder
            training_runs[folder] = planned
            runs[folder] = _grid_run(args, flags, arch, seed, planned, words)
            name = folder.name if len(seeds) > 1 else with_seed(folder.name, seed)
            folders[folder] = f"$OUT/{name}"
            bpe.add(planned.settings.bpe)
    _, text = plan_text(values_of(TextOptions, args, archs=(), bpe=tuple(bpe)))
    text_words = words_of_options(text_parser(), args)
    prepare = ["prepare", args.task, "--bpe", ",".join(sorted(bpe)), *text_words]
    table = table_line(list(folders.values()), seeds)
    grid = Grid(list(runs.values()), text, [dc_nmt(prepare)], table=table)
    do_runs(args, ["run", *argv], grid, list(training_runs.values()))
    return 0


def text_parser() -> Parser:
    """Returns a parser with the options of the text alone."""
    parser = Parser(prog="dc-nmt prepare")
    add_common(parser)
    add_text(parser)
    return parser


def _archs(args: argparse.Namespace) -> list[str]:
    from ..recipes.recipe import load

    archs: list[str] = args.archs or load(args.task).task.archs
    if args.name and len(archs) > 1:
        raise UsageError(
            f"--name: {args.name!r} is for one architecture; name one, or leave --name out"
        )
    return archs


def _grid_run(
    args: argparse.Namespace,
    flags: Sequence[str],
    arch: str,
    seed: int,
    planned: TrainPlan,
    words: Sequence[str],
) -> GridRun:
    from ..recipes.plan import Experiment
    from ..recipes.scoring import evaluation_stage, plan_decoding

    decoding = plan_decoding(values_of(Experiment, args, arch=arch, seed=seed))

    def stages() -> Iterator[Stage]:
        training = plan_of(args, flags, arch, seed)  # again: now the longest sentences are known
        yield training.stage
        yield evaluation_stage(decoding, training.variables, seed)

    return GridRun(
        planned.run.folder,
        seed,
        Plan(planned.variables, stages()),
        (dc_nmt(words),),
        lambda: planned.is_done() and decoding.has_scores(),
        planned.settings.updates,
        planned.settings.most_gpus,
    )
