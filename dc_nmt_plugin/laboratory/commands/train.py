"""``dc-nmt train``: an architecture with its paper's settings."""

from __future__ import annotations

from collections.abc import Sequence

from ..steps import Grid, GridRun
from .parser import Parser, add_common, add_run, add_training
from .runs import add_estimate, add_grid, do_runs, plan_of, seeds_of


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
