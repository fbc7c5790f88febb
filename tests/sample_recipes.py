"""Runs every recipe small, without a network; scripts/sample_recipes.sh calls it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from generated_files import unchecked_recipes, write_files

from dc_nmt_plugin.commands.parser import Parser, number
from dc_nmt_plugin.errors import UsageError, UserError
from dc_nmt_plugin.files import replacing
from dc_nmt_plugin.recipes.plan import RunOptions, plan_run
from dc_nmt_plugin.recipes.recipe import load
from dc_nmt_plugin.runs.finding import Run
from dc_nmt_plugin.steps import Command, Pipeline, stoppable
from dc_nmt_plugin.table import format_table

# every recipe, with architectures of every kind
SAMPLES = (
    *("iwslt14_de_en:transformer_ms_aux_aif", "iwslt14_de_en_fairseq:transformer_dc"),
    *("iwslt14_es_en:transformer_mlmha", "iwslt14_ro_en:transformer_mlmha_s_agg"),
    *("iwslt15_en_vi:transformer_ms_aux", "iwslt15_fr_en:transformer_mlmha_iter_c_agg"),
    *("multi30k_en_de:transformer_standard", "un_en_zh:gru_selfattn_residual"),
    *("wmt13_es_en:gru_selfattn_residual_mean", "wmt14_en_de:transformer_ctxaware"),
    *("wmt16_en_de:transformer_standard", "wmt17_zh_en:transformer_cross_agg"),
)
HEADER = ("task", "architecture", "prepare", "train", "evaluate", "the paper's line")


def parser() -> Parser:
    """Returns the options of the command."""
    parser = Parser(
        prog="scripts/sample_recipes.sh",
        description=(
            "Prepares, trains and evaluates every recipe with a little text, generated in the "
            "original file formats. Then prints a table of the seconds and scores. It needs no "
            "network."
        ),
    )
    parser.add_argument(
        "samples",
        nargs="*",
        metavar="TASK:ARCH",
        help=("tasks and architectures; default: every recipe, with architectures of every kind"),
    )
    parser.add_argument("--pairs", type=number(20), default=1000, metavar="N",
                        help="training pairs of each sample")  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("runs/samples"), metavar="DIR",
                        help="folder for the generated files, the runs and the logs")  # fmt: skip
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the samples and prints their table."""
    args = parser().parse_args(argv)
    samples = []
    for text in args.samples or SAMPLES:
        task, colon, arch = text.partition(":")
        if not (task and colon and arch):
            raise UsageError(f"{text!r} is not TASK:ARCH")
        samples.append((task, arch))
    pipeline, rows = Pipeline(), []
    with stoppable():
        for task, arch in samples:
            pipeline.say(f"{task}, {arch}")
            rows.append((task, arch, *_sample(task, arch, args.pairs, args.out.resolve() / task)))
    table = format_table(HEADER, rows)
    with replacing(args.out / "table.txt") as temporary:
        temporary.write_text(f"{table}\n", encoding="utf-8")
    print(f"\n{table}")
    return 0


def _sample(task: str, arch: str, pairs: int, out: Path) -> list[str]:
    """Returns the seconds of the three commands, and the paper's line."""
    files = out / "files"
    write_files(load(task), files, 3 * pairs, max(20, 3 * pairs // 15), 8000)
    own = os.environ.get("DC_NMT_RECIPES")
    os.environ["DC_NMT_RECIPES"] = str(unchecked_recipes(files / "recipes"))
    common = [task, arch, "--sample", str(pairs), "--out", str(out)]
    text = ["--raw", str(files), "--downloads", str(files / "downloads"), "--any-counts"]
    cells = []
    try:
        for command, more in (("prepare", text), ("train", []), ("evaluate", [])):
            log = files / f"{command}.log"
            log.unlink(missing_ok=True)
            began = time.monotonic()
            Command(["dc-nmt", command, *common, *more]).run(log)
            cells.append(f"{time.monotonic() - began:.0f}s")
    finally:
        del os.environ["DC_NMT_RECIPES"]
        if own is not None:
            os.environ["DC_NMT_RECIPES"] = own
    found = Run.read(plan_run(RunOptions(task, arch, out=out, sample=pairs)).folder).decoding
    score = found.score(found.paper_metric) if found.paper_metric else None
    return [*cells, f"{score.metric} {score.value:.2f}" if score else "none"]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"error: {error}")
