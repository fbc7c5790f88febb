"""``dc-nmt run``: a task from the raw text to scored models."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError
from .evaluate import evaluate
from .parser import Parser, add_common, add_run, add_text, add_training, pipeline_of, values_of
from .prepare import prepare
from .train import train


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
    from ..recipes.plan import RunOptions, TrainOptions, plan_training
    from ..recipes.preparation import TextOptions
    from ..recipes.recipe import load

    archs = args.archs or load(args.task).task.archs
    if args.name and len(archs) > 1:
        raise UsageError(
            f"--name: {args.name!r} is for one architecture; name one, or leave --name out"
        )
    training = values_of(TrainOptions, args, flags=tuple(flags))
    runs = {}  # by folder: an architecture with and without its default size is one run
    bpe = set()
    for arch in archs:
        run = values_of(RunOptions, args, arch=arch)
        # to prepare the text may take hours: refuse invalid runs before
        plan = plan_training(run, training)
        if flags:
            plan.training.check_flags(args.dry_run)
        experiment = plan.training.run
        runs[experiment.folder] = run
        bpe.add(plan.settings.bpe)
    pipeline = pipeline_of(args, "run", argv)
    data, out = experiment.binarised.parent, experiment.folder.parent  # the same for all
    pipeline.begin_script(data, out, args.seed, args.gpus, args.fp32)
    prepare(pipeline, values_of(TextOptions, args, archs=(), bpe=tuple(bpe)))
    for run in runs.values():
        train(pipeline, run, training)
        evaluate(pipeline, run)
    if not args.dry_run:
        from ..evaluation.run_table import collect
        from ..evaluation.table_text import format_run_table
        from ..runs.finding import Run
        from ..table import TEXT

        print()
        print(format_run_table(collect([Run.read(folder) for folder in runs]), TEXT))
    return 0
