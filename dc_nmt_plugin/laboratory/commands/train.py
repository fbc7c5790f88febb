"""``dc-nmt train``: an architecture with its paper's settings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import UsageError, UserError
from ...steps import Grid, GridRun, Plan, dc_nmt
from .parser import (
    Parser,
    add_common,
    add_grid,
    add_run,
    add_training,
    do_runs,
    seeds_of,
    values_of,
    words_of_options,
)

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
    add_grid(parser)
    return parser


def main(argv: Sequence[str]) -> int:
    options = parser()
    args, flags = options.parse_with_flags(argv)
    runs, training_runs = [], []
    for seed in seeds_of(args):
        planned = plan_of(args, flags, args.arch, seed)
        if not (args.dry_run or args.status):
            _check_text(args, planned)
        words = ["train", args.task, args.arch, *words_of_options(options, args)]
        words += ["--seed", str(seed), "--", *flags]
        run = GridRun(
            planned.run.folder,
            seed,
            Plan(planned.variables, [planned.stage]),
            (dc_nmt(words),),
            planned.is_done,
            planned.settings.updates,
            planned.settings.most_gpus,
        )
        runs.append(run)
        training_runs.append(planned)
    do_runs(args, ["train", *argv], Grid(runs), training_runs)
    return 0


def _check_text(args: argparse.Namespace, planned: TrainPlan) -> None:
    """Raises UserError if the text is not prepared."""
    folder = planned.run.text.binarised
    if not (folder / ".stamp").is_file():
        raise UserError(
            f"{folder} is not there: prepare the text first, with dc-nmt prepare "
            f"{args.task} --bpe {planned.settings.bpe} and the same --out and --sample"
        )


def plan_of(args: argparse.Namespace, flags: Sequence[str], arch: str, seed: int) -> TrainPlan:
    """Plans the training of one architecture; refuses flags that this machine cannot follow."""
    from ..recipes.plan import Experiment, TrainOptions, plan_training, visible_gpus

    elsewhere = args.dry_run or args.on is not None
    if not elsewhere and (args.gpus or 0) > visible_gpus():
        raise UsageError(f"--gpus {args.gpus}: this machine has {visible_gpus()}")
    options = values_of(Experiment, args, arch=arch, seed=seed)
    train = values_of(TrainOptions, args, flags=tuple(flags))
    planned = plan_training(options, train, for_script=elsewhere)
    if flags:
        planned.check_flags(elsewhere)
    return planned
