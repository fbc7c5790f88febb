"""``dc-nmt prepare``: prepares the text of a task for fairseq."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..flags import listed
from ..steps import Pipeline
from .parser import Parser, add_common, add_text, pipeline_of, values_of

if TYPE_CHECKING:
    from ..recipes.preparation import TextOptions


def parser() -> Parser:
    parser = Parser(
        prog="dc-nmt prepare",
        description="Prepares the text of a published task: downloads, verifies, tokenises, "
        "splits, segments by BPE and binarises it. Finished steps are skipped the next time.",
    )
    parser.add_argument(
        "task", metavar="TASK",
        help="task; 'dc-nmt recipe list' lists all. The reverse direction of a task, such as "
        "iwslt15_vi_en, uses the same data",
    )  # fmt: skip
    parser.add_argument(
        "archs", nargs="*", metavar="ARCH",
        help="prepare the text for these architectures; default: for all papers of the task",
    )  # fmt: skip
    about = "further segmentations to prepare, by their names in the recipe"
    parser.add_argument("--bpe", type=listed, default=(), metavar="NAME,…", help=about)
    add_common(parser)
    add_text(parser)
    return parser


def main(argv: Sequence[str]) -> int:
    args = parser().parse_args(argv)
    from ..recipes.preparation import TextOptions

    options = values_of(TextOptions, args, archs=tuple(args.archs), bpe=tuple(args.bpe))
    prepare(pipeline_of(args, "prepare", argv), options)
    return 0


def prepare(pipeline: Pipeline, options: TextOptions) -> None:
    from ..recipes.preparation import plan_text

    preparation = plan_text(options)
    pipeline.begin_script(preparation.work)  # unless dc-nmt run began it
    pipeline.run(preparation.work, *preparation.steps())
    if not pipeline.dry_run:
        pipeline.say(f"done; everything is in {preparation.work}")
