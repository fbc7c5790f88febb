"""``dc-nmt train``: an architecture with its paper's settings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import UserError
from ..steps import Pipeline
from .parser import Parser, add_common, add_run, add_training, pipeline_of, values_of

if TYPE_CHECKING:
    from ..recipes.plan import RunOptions, TrainOptions


def parser() -> Parser:
    """Returns the options of the command."""
    parser = Parser(
        prog="dc-nmt train",
        description="Train an architecture on a prepared task with its paper's settings. "
        "All other flags go to fairseq-train, such as --fp16 --dropout 0.2.",
        epilog="An interrupted run continues from its last checkpoint.",
    )
    parser.add_argument("task", metavar="TASK", help="task, as it was prepared")
    parser.add_argument(
        "arch", metavar="ARCH",
        help="architecture; 'dc-nmt arch-flags' lists all. Without a size, the size of the paper "
        "is used (on IWSLT, transformer_dc becomes transformer_dc_iwslt_ff512)",
    )  # fmt: skip
    add_common(parser)
    add_run(parser)
    add_training(parser)
    return parser


def main(argv: Sequence[str]) -> int:
    """Trains one architecture."""
    args, flags = parser().parse_with_flags(argv)
    train(pipeline_of(args, "train", argv), *options_of(args, flags))
    return 0


def options_of(args: argparse.Namespace, flags: Sequence[str]) -> tuple[RunOptions, TrainOptions]:
    """Returns the options of a run and its training from the command line."""
    from ..recipes.plan import RunOptions, TrainOptions

    training = values_of(TrainOptions, args, flags=tuple(flags))
    return values_of(RunOptions, args), training


def train(pipeline: Pipeline, run: RunOptions, options: TrainOptions) -> None:
    """Trains a run and prints its settings."""
    from ..recipes.plan import plan_training

    plan = plan_training(run, options)
    training = plan.training
    if options.flags:
        training.check_flags()
    binarised = training.run.binarised
    if not pipeline.dry_run and not (binarised / ".stamp").is_file():
        raise UserError(
            f"{binarised} is not there: prepare the text first, with dc-nmt prepare "
            f"{run.task} --bpe {plan.settings.bpe} and the same --out and --sample"
        )
    run_folder = training.run.folder
    pipeline.begin(binarised.parent, run_folder.parent, run.seed, options.gpus, options.fp32)
    pipeline.enter(run_folder, **plan.variables)
    pipeline.note(f"{plan.recipe.name}: {plan.recipe.task.title}\n{plan.settings.source}")
    if not pipeline.dry_run:  # a script may run on another number of GPUs
        pipeline.say(plan.batch.describe(plan.settings.tokens))
    for note in plan.notes:
        pipeline.say(note)
    pipeline.run(training.folder, training)
    if not pipeline.dry_run:
        pipeline.say(f"done; the checkpoints are in {training.run.checkpoints}")
