"""``dc-nmt evaluate``: translates and scores with a trained run, as its paper did."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import UsageError, UserError, notify
from ..steps import Grid, GridRun
from .parser import Parser, add_common, add_ensemble, add_run, values_of
from .runs import add_grid, do_runs, seeds_of, table_command

if TYPE_CHECKING:
    from ..recipes.planned import PlannedDecoding, PlannedRun


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
    add_ensemble(parser)
    about = (
        "name for another way to decode the run; the folders are generate-NAME and score-NAME, and "
        "dc-nmt results shows it as a row of its own; default with --with: ensemble.RUN"
    )
    parser.add_argument("--as", dest="decoding", default="", metavar="NAME", help=about)
    return parser


def main(argv: Sequence[str]) -> int:
    args, flags = parser().parse_with_flags(argv)
    if args.gpus and not (args.jobs or args.on):
        raise UsageError("--gpus: 0 decodes on the CPU; other numbers go with --jobs or --on slurm")
    runs = [_grid_run(args, tuple(flags), seed) for seed in seeds_of(args)]
    folders = [run.folder for run in runs]
    table = table_command(folders, args.seeds, args.subset) if len(runs) > 1 else None
    do_runs(args, ["evaluate", *argv], Grid(runs, table=table))
    return 0


def _grid_run(args: argparse.Namespace, flags: tuple[str, ...], seed: int) -> GridRun:
    from ..recipes.done import check_ensemble, has_scores
    from ..recipes.planned import Experiment
    from ..recipes.scoring import evaluation_command, plan_decoding

    experiment = values_of(Experiment, args, seed=seed, ensemble=tuple(args.ensemble))
    decoding = plan_decoding(experiment, flags)
    if flags:  # refused before any work
        _check_flags(decoding)
    if not (args.dry_run or args.status):
        _check_run(decoding.run, args)
        check_ensemble(decoding)
    command = evaluation_command(experiment, decoding, flags, hides_gpus=args.gpus == 0)
    return GridRun(decoding.run.folder, seed, (command,), lambda: has_scores(decoding))


def _check_flags(decoding: PlannedDecoding) -> None:
    from ..fairseq_flags import GENERATE, parse_flags

    parse_flags(GENERATE, ["data", "--task", "translation_dc_nmt", *decoding.search])


def _check_run(run: PlannedRun, args: argparse.Namespace) -> None:
    """Raises UserError if the run has no checkpoints, or its text is not prepared."""
    from ..recipes.done import has_text, is_trained

    named = shlex.join([args.task, args.arch])
    if is_trained(run):
        pass
    elif not (run.checkpoints / "checkpoint_last.pt").is_file():
        raise UserError(
            f"{run.checkpoints} has no checkpoints: train first, with dc-nmt train "
            f"{named} and the same --name, --seed, --out and --sample"
        )
    else:
        notify(f"{run.folder} has not finished; its last checkpoints are evaluated (--average N)")
    if not has_text(run):
        raise UserError(
            f"{run.text.binarised} is not there: prepare the text again, with dc-nmt prepare "
            f"{named}"
        )
