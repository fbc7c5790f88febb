"""``dc-nmt quickstart``: from nothing to trained, scored and compared models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..machine import usable_cpus
from ..pipeline import Pipeline, stoppable
from ..side_by_side import side_by_side
from .parser import Parser, add_threads, number, use_threads

if TYPE_CHECKING:
    from ..recipes.experiment import Experiment
    from ..recipes.training import TrainingStep

DEFAULT = ("transformer_standard", "transformer_dc")
MEANING = """\
What the scores mean (0-100, higher is better; on 500 sentences that no model has seen):
  BLEU     share of the words, and of sequences of two to four words, that the reference also has;
           short translations are penalised. Generated text like this is easy
  BLEU lc  BLEU without regard to capitals
  chrF     the same for sequences of up to six characters; a wrong ending costs less
  p        how often another choice of sentences would bring such a difference if there were none
           (two-sided; p (sacreBLEU) is its one-sided form); below 0.05 counts as a difference,
           for this text and one training run of each model"""


def parser() -> Parser:
    """Returns the options of the command."""
    parser = Parser(
        prog="dc-nmt quickstart",
        description="Trains, scores and compares small models on generated text.",
        epilog="All other flags go to fairseq-train, such as --cpu.",
    )
    parser.add_argument(
        "archs", nargs="*", metavar="ARCH",
        help=f"architectures; default: {' '.join(DEFAULT)}",
    )  # fmt: skip
    parser.add_argument(
        "--pair",
        default="en-de",
        help="language pair SOURCE-TARGET, two of en, de, es, fr, ro, vi, zh",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("quickstart_out"), metavar="DIR",
        help="output folder; a second call continues there",
    )  # fmt: skip
    parser.add_argument(
        "--max-update", type=number(2), default=700, metavar="N",
        help="training updates of each model",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=number(1), default=1, help="random seed of the corpus and of training"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the commands without running them"
    )
    add_threads(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt quickstart``."""
    args, flags = parser().parse_with_flags(argv)
    use_threads(args)
    archs = args.archs or DEFAULT
    from ..recipes.quickstart import plan_quickstart

    plan = plan_quickstart(args.pair, archs, args.out, args.max_update, args.seed, flags)
    pipeline = Pipeline(args.dry_run)
    with stoppable():
        with pipeline.alone(plan.work, wait=True):
            pipeline.run(plan.corpus, *plan.preparation.steps())
        _train(pipeline, plan.models)
    if not pipeline.dry_run:
        from ..evaluation.side_by_side import EXAMPLES, format_side_by_side

        pipeline.say(f"done; everything is in {plan.work}\n")
        print(format_side_by_side([run.folder for run, _ in plan.models], EXAMPLES))
        print(f"\n{MEANING}")
    return 0


def _train(pipeline: Pipeline, models: Sequence[tuple[Experiment, TrainingStep]]) -> None:
    """Trains and scores every model; on CPUs at the same time, because small models use few."""
    from ..recipes.launch import visible_gpus

    def model(run: Experiment, training: TrainingStep) -> None:
        with stoppable(), pipeline.alone(run.folder, wait=False):
            pipeline.run(training, *run.evaluation())

    at_once = min(usable_cpus(), len(models))
    if pipeline.dry_run or at_once == 1 or visible_gpus():
        for run, training in models:
            model(run, training)
        return
    os.environ.setdefault("OMP_NUM_THREADS", str(usable_cpus() // at_once))
    side_by_side([partial(model, *each) for each in models], at_once)
