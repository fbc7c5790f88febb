#!/usr/bin/env python3
"""Measures speed and memory of architectures against fairseq's own transformer of the same size.

  programs  fairseq-train and fairseq-generate, which take turns: one batch each
  growth    time and peak memory of a training step on random sentences of growing length
  ablation  programs of every architecture, and without pieces of speed, most important first

With --without, programs also times each architecture without a piece of speed. "of all" is this
speed, divided by that of the whole. A ratio above 1 is faster than stock. "stock again" is the
control: stock against itself. All programs are in memory at the same time.
DATA is a folder made by fairseq-preprocess. docs/speed.md has the results.

examples:
  python benchmarks/bench.py programs DATA transformer_standard_iwslt --turns 60
  python benchmarks/bench.py programs DATA transformer_dc_iwslt 'transformer_dc_iwslt --dropout 0'
  python benchmarks/bench.py growth DATA transformer_cross_agg_iwslt --lengths 10 100 1000
  python benchmarks/bench.py ablation DATA --device cuda --max-tokens 4096 --seconds 120
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import warnings
from pathlib import Path
from typing import Any

from ablation import measure_groups
from growth import measure_growth
from programs import WARM_UP, compare_programs
from tabulate import tabulate


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = result.add_argument
    add("what", choices=("programs", "growth", "ablation"))
    add("data", help="folder made by fairseq-preprocess")
    add("archs", nargs="*", metavar="ARCH", help="architectures; flags may follow, in quotes")
    add("--mode", choices=("train", "decode"), default="train")
    add(
        "--turns",
        type=int,
        default=40,
        help=f"of programs, one batch each; the first {WARM_UP} are left out (default: 40)",
    )
    add("--max-tokens", type=int, default=2048, help="of a batch (default: 2048)")
    add("--threads", type=int, default=1, help="of the CPU (default: 1)")
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--flags", type=str.split, default=[], help="of all, stock too, such as ' --bf16'")
    add(
        "--without",
        type=lambda text: text.split(","),
        default=[],
        metavar="PIECE,PIECE",
        help="also each architecture without a piece of speed; without.py has the names",
    )
    add("--subset", default="test", help="text of decoding (default: test)")
    add("--checkpoint", type=Path, help="of a trained standard Transformer, for decoding")
    add(
        "--ctranslate2",
        nargs="+",
        default=[],
        metavar="TYPE",
        help="with --checkpoint: CTranslate2 too, in float32, bfloat16, int8, …",
    )
    add("--length", type=int, default=20, help="of hypotheses of untrained models (default: 20)")
    add("--lengths", type=int, nargs="+", default=[10, 100, 300, 1000], help="of growth, rising")
    add("--seconds", type=float, default=1.0, help="of a step in growth, or of an ablation")
    add("--json", type=Path, metavar="FILE", help="write all numbers")
    return result


def ratio(ratios: list[float]) -> str:
    """Returns median and quartiles."""
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def table(rows: list[dict[str, Any]], options: argparse.Namespace) -> str:
    """Returns the rows as a Markdown table."""
    if options.what == "growth":
        head = ["ms (MiB), tokens a sentence:", *map(str, options.lengths)]
        body = []
        for row in rows:
            pairs = zip(row["ms"], row["mib"], strict=True)
            body.append([row["system"], *(f"{ms:.0f} ({mib:.0f})" for ms, mib in pairs)])
        return tabulate(body, head, tablefmt="github")
    decoding = rows[0]["mode"] == "decode"
    head = ["", "sentences/s" if decoding else "words/s", "ratio"]
    body = [[row["system"], f"{row['rate']:,.1f}", ratio(row["ratios"])] for row in rows]
    if any("kept" in row for row in rows):
        head.append("of all")
        for cells, row in zip(body, rows, strict=True):
            cells.append(ratio(row["kept"]) if "kept" in row else "")
    if "different" in rows[0]:
        head.append("other hypotheses")
        for cells, row in zip(body, rows, strict=True):
            cells.append(str(row["different"]))
    return tabulate(body, head, tablefmt="github", disable_numparse=True)


def check(options: argparse.Namespace) -> None:
    """Refuses bad options in one sentence, before programs start that would fail one by one.

    Raises:
        SystemExit: the first thing that is wrong
    """
    if not any(Path(options.data).glob("dict.*.txt")):
        raise SystemExit(f"{options.data}: no folder made by fairseq-preprocess (no dict.*.txt)")
    if options.ctranslate2 and not (options.mode == "decode" and options.checkpoint):
        raise SystemExit("--ctranslate2 goes with programs --mode decode --checkpoint FILE")
    if options.what != "ablation" and not options.archs:
        raise SystemExit("name at least one architecture; dc-nmt arch-flags lists all")
    if options.what == "programs" and options.turns < WARM_UP + 2:
        raise SystemExit(
            f"--turns: {options.turns} are too few; the first {WARM_UP} are left out, so give "
            f"{WARM_UP + 2} or more"
        )
    if options.without:
        from without import PIECES  # loads torch and the whole package

        for piece in options.without:
            if piece not in PIECES:
                raise SystemExit(f"--without: no piece {piece!r}; choose from {', '.join(PIECES)}")


def main() -> None:
    options = parser().parse_args()
    check(options)
    logging.disable(logging.WARNING)  # fairseq's
    warnings.simplefilter("ignore")  # Hydra's and torch's, for fairseq
    options.data = os.path.abspath(options.data)
    if options.what == "ablation":
        for title, rows in measure_groups(options):
            print(f"\n{title}\n\n{table(rows, options)}", flush=True)
        return
    if options.what == "growth":
        rows = measure_growth(options.archs, options)
    else:
        rows = compare_programs(options.mode, options.archs, options)
    print(table(rows, options))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
