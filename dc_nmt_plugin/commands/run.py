"""``dc-nmt run``: a task from the raw text to scored models."""

from __future__ import annotations

from collections.abc import Sequence

from .evaluate import evaluate
from .parser import Parser, add_common, add_run, add_text, add_training, pipeline_of, values_of
from .prepare import prepare
from .train import plan_of, train


def main(argv: Sequence[str]) -> int:
    parser = Parser(
        prog="dc-nmt run",
        usage="dc-nmt run TASK [ARCH …] [options] [flags of fairseq-train]",
        description="Runs a task from raw text to scores: dc-nmt prepare, then dc-nmt train and "
        "dc-nmt evaluate for each architecture, then a table. All other flags go to "
        "fairseq-train, such as --lr 1e-3.",
    )
    parser.add_argument("task", metavar="TASK", help="task; 'dc-nmt recipe list' lists all")
    parser.add_argument(
        "archs", nargs="*", metavar="ARCH",
        help="architectures; default: those of the recipe, else transformer_standard",
    )  # fmt: skip
    add_common(parser)
    add_text(parser)
    add_run(parser)
    add_training(parser)
    args, flags = parser.parse_with_flags(argv)
    from ..recipes.preparation import TextOptions
    from ..recipes.recipe import load

    archs = args.archs or load(args.task).task.archs
    if args.name and len(archs) > 1:
        parser.error(
            f"--name: {args.name!r} is for one architecture; name one, or leave --name out"
        )
    plans = {}  # by folder: an architecture with and without its default size is one run
    for arch in archs:
        # to prepare the text may take hours: refuse invalid runs before
        plan = plan_of(args, flags, arch)
        plans[plan.training.run.folder] = plan
    pipeline = pipeline_of(args, "run", argv)
    run = plan.training.run  # the last one; all have the same text, and their folders one parent
    pipeline.begin_script(run.binarised.parent, run.folder.parent, args.seed, args.gpus, args.fp32)
    bpe = {plan.settings.bpe for plan in plans.values()}
    prepare(pipeline, values_of(TextOptions, args, archs=(), bpe=tuple(bpe)))
    for plan in plans.values():
        train(pipeline, plan)
        evaluate(pipeline, plan.training.run)
    if not args.dry_run:
        from ..evaluation.collecting import collect
        from ..evaluation.table_text import format_results
        from ..runs.finding import Run
        from ..table import TEXT

        print()
        print(format_results(collect([Run.read(folder) for folder in plans]), TEXT))
    return 0
