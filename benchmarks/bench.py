#!/usr/bin/env python3
"""Measures speed and memory of architectures against fairseq's own transformer of the same size.

  programs  fairseq-train and fairseq-generate as users run them, in turn
  steps     training or decoding steps over batches of real text, in turn in one process
  growth    time and peak memory of a step on random sentences of growing length
  ablation  steps of every architecture, and without each piece of speed, most important first

With --without, steps also times each architecture without a piece of speed. "of all" is this
speed, divided by that of the whole. A ratio above 1 is faster than stock. "stock again" is the
control: stock against itself.
DATA is a folder made by fairseq-preprocess. docs/speed.md has the results.

examples:
  python benchmarks/bench.py programs DATA transformer_standard_iwslt --mode train --rounds 15
  python benchmarks/bench.py steps DATA transformer_dc_iwslt 'transformer_dc_iwslt --dropout 0'
  python benchmarks/bench.py growth DATA transformer_cross_agg_iwslt --lengths 10 100 1000
  python benchmarks/bench.py ablation DATA --device cuda --max-tokens 4096 --rounds 60 \\
    --batches 6 --seconds 120
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
from programs import compare_programs
from steps import compare_steps, measure_growth
from tabulate import tabulate

MEASURES = {"programs": compare_programs, "steps": compare_steps, "growth": measure_growth}


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = result.add_argument
    add("what", choices=(*MEASURES, "ablation"))
    add("data", help="folder made by fairseq-preprocess")
    add("archs", nargs="*", metavar="ARCH", help="architectures; flags may follow, in quotes")
    add("--mode", choices=("train", "decode"), default="train")
    add("--rounds", type=int, default=5, help="of programs and steps (default: 5)")
    add("--max-tokens", type=int, default=2048, help="of a batch (default: 2048)")
    add("--threads", type=int, default=1, help="of the CPU (default: 1)")
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--precision", choices=("fp32", "bf16", "fp16", "amp"), default="fp32", help="of steps")
    add(
        "--without",
        type=lambda text: text.split(","),
        default=[],
        metavar="PIECE,PIECE",
        help="in steps, also each architecture without a piece of speed; without.py has the names",
    )
    add("--batches", type=int, default=0, help="different ones in steps (default: as rounds)")
    add("--subset", default="test", help="text of decoding and of steps (default: test)")
    add("--updates", type=int, default=60, help="of fairseq-train (default: 60)")
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
    add(
        "--seconds",
        type=float,
        default=1.0,
        help="of a step in growth; of an ablation (default: 1)",
    )
    add("--json", type=Path, metavar="FILE", help="write all numbers")
    return result


def ratio(ratios: list[float]) -> str:
    """Returns median and quartiles."""
    if len(ratios) < 2:
        return f"{ratios[0]:.2f}"
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
    unit = "words/s" if options.mode == "train" else "sentences/s"
    head = ["", unit, "ratio"]
    body = [[row["system"], f"{row['rate']:,.1f}", ratio(row["ratios"])] for row in rows]
    if any("kept" in row for row in rows):
        head.append("of all")
        for cells, row in zip(body, rows, strict=True):
            cells.append(ratio(row["kept"]) if "kept" in row else "")
    if options.what == "programs":
        head += ["CPU s", "ratio", "wall s"]
        for cells, row in zip(body, rows, strict=True):
            whole = rows[0]["cpu_s"] / row["cpu_s"]
            cells += [f"{row['cpu_s']:.1f}", f"{whole:.2f}", f"{row['wall_s']:.1f}"]
            if "different" in row:
                cells.append(str(row["different"]))
        if options.mode == "decode":
            head.append("other hypotheses")
    return tabulate(body, head, tablefmt="github", disable_numparse=True)


def main() -> None:
    options = parser().parse_args()
    logging.disable(logging.WARNING)  # fairseq's
    warnings.simplefilter("ignore")  # Hydra's and torch's, for fairseq
    options.data = os.path.abspath(options.data)
    if options.what == "ablation":
        for title, rows in measure_groups(options):
            print(f"\n{title}\n\n{table(rows, options)}", flush=True)
        return
    if options.ctranslate2 and not (options.mode == "decode" and options.checkpoint):
        raise SystemExit("--ctranslate2 goes with programs --mode decode --checkpoint FILE")
    if not options.archs:
        raise SystemExit("name at least one architecture; dc-nmt arch-flags lists all")
    rows = MEASURES[options.what](options.mode, options.archs, options)
    print(table(rows, options))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
