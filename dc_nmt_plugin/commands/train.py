"""``dc-nmt train``: an architecture with its paper's settings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import UsageError, UserError
from ..steps import Plan
from .parser import Parser, add_common, add_run, add_training, print_script, values_of

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
    return parser


def main(argv: Sequence[str]) -> int:
    args, flags = parser().parse_with_flags(argv)
    planned = plan_of(args, flags, args.arch)
    plan = Plan(planned.variables, [planned.stage])
    if args.dry_run:
        print_script(plan, "train", argv)
        return 0
    run = planned.run
    if not (run.binarised / ".stamp").is_file():
        raise UserError(
            f"{run.binarised} is not there: prepare the text first, with dc-nmt prepare "
            f"{args.task} --bpe {planned.settings.bpe} and the same --out and --sample"
        )
    from ..recipes.execution import Progress, execute

    execute(plan, Progress())
    return 0


def plan_of(args: argparse.Namespace, flags: Sequence[str], arch: str) -> TrainPlan:
    """Plans the training of one architecture; refuses flags that this machine cannot follow."""
    from ..recipes.plan import Experiment, TrainOptions, plan_training, visible_gpus

    if not args.dry_run and (args.gpus or 0) > visible_gpus():  # a script may train elsewhere
        raise UsageError(f"--gpus {args.gpus}: this machine has {visible_gpus()}")
    options = values_of(Experiment, args, arch=arch)
    train = values_of(TrainOptions, args, flags=tuple(flags))
    planned = plan_training(options, train, for_script=args.dry_run)
    if flags:
        planned.check_flags(args.dry_run)
    return planned
