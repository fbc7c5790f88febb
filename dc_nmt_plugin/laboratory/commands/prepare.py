"""``dc-nmt prepare``: prepares the text of a task for fairseq."""

from __future__ import annotations

from collections.abc import Sequence

from ...flags import listed
from .parser import Parser, add_common, add_text, values_of
from .runs import print_script


def parser() -> Parser:
    parser = Parser(
        prog="dc-nmt prepare",
        description="Prepares the text of a published task: downloads, verifies, tokenises, "
        "splits, segments by BPE and binarises it. Finished steps are skipped the next time.",
    )
    about = (
        "task; 'dc-nmt recipe list' lists all. The reverse direction of a task, such as "
        "iwslt15_vi_en, uses the same data"
    )
    parser.add_argument("task", metavar="TASK", help=about)
    about = "prepare the text for these architectures; default: for all papers of the task"
    parser.add_argument("archs", nargs="*", metavar="ARCH", help=about)
    about = "further segmentations to prepare, by their names in the recipe"
    parser.add_argument("--bpe", type=listed, default=(), metavar="NAME,…", help=about)
    add_common(parser)
    add_text(parser)
    return parser


def main(argv: Sequence[str]) -> int:
    args = parser().parse_args(argv)
    from ..recipes.preparation import TextOptions, plan_text

    command = plan_text(values_of(TextOptions, args, archs=tuple(args.archs), bpe=tuple(args.bpe)))
    if args.dry_run:
        print_script([command], ["prepare", *argv])
    else:
        from ..recipes.execution import Progress, execute

        execute([command], Progress())
    return 0
