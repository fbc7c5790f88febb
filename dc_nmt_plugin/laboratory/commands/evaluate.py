"""``dc-nmt evaluate``: translates and scores with a trained run, as its paper did."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import UsageError, UserError, notify
from ...steps import Grid, GridRun, Plan, dc_nmt
from .parser import (
    Parser,
    add_common,
    add_grid,
    add_run,
    do_runs,
    seeds_of,
    table_line,
    values_of,
    words_of_options,
)

if TYPE_CHECKING:
    from ..recipes.scoring import PlannedDecoding
    from ..recipes.training import PlannedRun


def parser() -> Parser:
    parser = Parser(
        prog="dc-nmt evaluate",
        usage="dc-nmt evaluate TASK ARCH [options] [flags of fairseq-generate]",
        description="Averages the checkpoints of a run, translates the test set as its paper did, "
        "and scores it. The output has every score that papers print, and marks the one of this "
        "paper.",
        epilog="All other flags go to fairseq-generate, after the flags of the recipe.",
    )
    parser.add_argument("task", metavar="TASK", help="task and options as in training")
    parser.add_argument("arch", metavar="ARCH")
    add_common(parser)
    add_run(parser)
    add_grid(parser)
    about = "text to translate and score: test (default), valid, or another test set"
    parser.add_argument("--subset", default="test", metavar="SET", help=about)
    about = (
        "name for another way to decode the run; the folders are generate-NAME and score-NAME, and "
        "dc-nmt results shows it as a row of its own"
    )
    parser.add_argument("--as", dest="decoding", default="", metavar="NAME", help=about)
    return parser


def main(argv: Sequence[str]) -> int:
    options = parser()
    args, flags = options.parse_with_flags(argv)
    if args.gpus is not None and not (args.jobs or args.on):
        raise UsageError("--gpus: goes with --jobs or --on slurm; --cpu decodes on the CPU")
    runs = []
    for seed in seeds_of(args):
        words = ["evaluate", args.task, args.arch, *words_of_options(options, args)]
        runs.append(_grid_run(args, flags, seed, [*words, "--seed", str(seed), "--", *flags]))
    folders = [f"$OUT/{run.folder.name}" for run in runs]
    table = table_line(folders, args.seeds, args.subset) if len(runs) > 1 else None
    do_runs(args, ["evaluate", *argv], Grid(runs, table=table))
    return 0


def _grid_run(
    args: argparse.Namespace, flags: Sequence[str], seed: int, words: Sequence[str]
) -> GridRun:
    from ..recipes.plan import Experiment, gpus_variable, run_variables
    from ..recipes.scoring import evaluation_stage, plan_decoding

    decoding = plan_decoding(values_of(Experiment, args, seed=seed))
    decoding = replace(decoding, search=(*decoding.search, *flags))
    if flags:  # refused before any work
        _check_flags(decoding)
    if not (args.dry_run or args.status):
        _check_run(decoding.run, args)
    variables = [*run_variables(decoding.run, seed), gpus_variable("", None)]
    plan = Plan(variables, [evaluation_stage(decoding, variables, seed)])
    return GridRun(decoding.run.folder, seed, plan, (dc_nmt(words),), decoding.has_scores)


def _check_flags(decoding: PlannedDecoding) -> None:
    from ..inference.search import parse_search

    parse_search(["data", "--task", "translation_dc_nmt", *decoding.search])


def _check_run(run: PlannedRun, args: argparse.Namespace) -> None:
    """Raises UserError if the run has no checkpoints, or its text is not prepared."""
    named = shlex.join([args.task, args.arch])
    if run.is_trained():
        pass
    elif not (run.checkpoints / "checkpoint_last.pt").is_file():
        raise UserError(
            f"{run.checkpoints} has no checkpoints: train first, with dc-nmt train "
            f"{named} and the same --name, --seed, --out and --sample"
        )
    else:
        notify(f"{run.folder} has not finished; its last checkpoints are evaluated (--average N)")
    folder = run.text.binarised
    if not (folder / ".stamp").is_file():
        raise UserError(
            f"{folder} is not there: prepare the text again, with dc-nmt prepare {named}"
        )
