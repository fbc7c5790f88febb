"""``dc-nmt train``: an architecture with its paper's settings."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import UsageError, UserError
from ...flags import USER_DIR_VARIABLE, flag_name
from ..steps import Grid, GridRun
from .parser import Parser, add_common, add_run, add_training, values_of
from .runs import add_estimate, add_grid, do_runs, seeds_of

if TYPE_CHECKING:
    from ..recipes.plan import TrainPlan


def parser() -> Parser:
    parser = Parser(
        prog="dc-nmt train",
        description="Train an architecture on a prepared task with its paper's settings. "
        "All other flags go to fairseq-train, such as --fp16 --dropout 0.2.",
        epilog="An interrupted run continues from its last checkpoint.",
    )
    parser.add_argument("task", metavar="TASK", help="task, as it was prepared")
    about = (
        "architecture; 'dc-nmt arch-flags' lists all. Without a size, the size of the paper is "
        "used (on IWSLT, transformer_dc becomes transformer_dc_iwslt_ff512)"
    )
    parser.add_argument("arch", metavar="ARCH", help=about)
    add_common(parser)
    add_run(parser)
    add_training(parser)
    add_estimate(parser)
    add_grid(parser)
    return parser


def main(argv: Sequence[str]) -> int:
    args, flags = parser().parse_with_flags(argv)
    plans = [plan_of(args, flags, args.arch, seed) for seed in seeds_of(args)]
    if not (args.dry_run or args.status):
        for planned in plans:
            planned.check_text()
    runs = [
        GridRun(
            planned.run.folder,
            planned.experiment.seed,
            (planned.command,),
            planned.is_done,
            planned.settings.updates,
            planned.settings.most_gpus,
        )
        for planned in plans
    ]
    do_runs(args, ["train", *argv], Grid(runs), plans)
    return 0


def _refuse_taken_flags(args: argparse.Namespace) -> None:
    """Refuses mechanisms of the user's own whose flags would not get through to fairseq-train."""
    from ...modules.mechanisms import mechanisms

    for mechanism in mechanisms():
        for setting in map(mechanism.setting, mechanism.options):
            if setting in vars(args):
                raise UserError(
                    f"{flag_name(setting)}: is an option of dc-nmt, which would keep it from "
                    f"{mechanism.name!r} in {mechanism.folder}; choose another name there."
                )


def plan_of(args: argparse.Namespace, flags: Sequence[str], arch: str, seed: int) -> TrainPlan:
    """Plans the training of one architecture; refuses flags that this machine cannot follow."""
    from ..recipes.plan import plan_training, visible_gpus
    from ..recipes.planned import Experiment, TrainOptions

    if USER_DIR_VARIABLE in os.environ:  # which --user-dir sets, too
        _refuse_taken_flags(args)
    elsewhere = args.dry_run or args.on is not None
    if not elsewhere and (args.gpus or 0) > visible_gpus():
        raise UsageError(f"--gpus {args.gpus}: this machine has {visible_gpus()}")
    experiment = values_of(Experiment, args, arch=arch, seed=seed)
    gpus = 1 if args.jobs and args.gpus else args.gpus  # each job has a GPU of its own
    options = values_of(TrainOptions, args, flags=tuple(flags), gpus=gpus)
    planned = plan_training(experiment, options)
    if flags:
        planned.check_flags(elsewhere=elsewhere)
    return planned
