#!/usr/bin/env python3
"""Measures every piece of speed and every architecture in one process, for a GPU lent for minutes.

Prints a table for each group, the most important first, and stops when the time is over.

example:
  python benchmarks/ablation.py DATA --seconds 120 --device cuda
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
import warnings
from typing import NamedTuple

from bench import table
from steps import compare_steps

ALL = ("standard", "dc", "ctxaware", "cross_agg", "mlmha", "mlmha_m_00", "mlmha_iter_c_agg",
       "ms_aux", "ms_aux_aif")  # fmt: skip


class Group(NamedTuple):
    """Describes systems that are measured in turn.

    Attributes:
        mode, precision: of :func:`steps.compare_steps`
        systems: names of architectures without their first word and size
        without: pieces that are switched off, one at a time
        seconds: at most, after the warm-up
        size: of the architectures; None: that of the command line
    """

    mode: str
    precision: str
    systems: tuple[str, ...]
    without: tuple[str, ...]
    seconds: float
    size: str | None = None


PLAIN = ("standard",)
TRAINING = ("chunked_loss", "packing", "fused_adam")
DECODING = ("beam_search", "best_blocks")
GROUPS = (
    Group("train", "bf16", PLAIN, TRAINING, 8),
    Group("decode", "bf16", PLAIN, DECODING, 10),
    Group("train", "bf16", ALL, (), 8),
    Group("decode", "bf16", ALL, (), 12),
    Group("train", "fp32", PLAIN, ("chunked_loss", "packing", "fused_adam"), 5),
    Group("decode", "fp32", PLAIN, ("beam_search",), 6),
    Group("train", "amp", PLAIN, ("chunked_loss", "packing", "fused_adam"), 5),
    Group("decode", "bf16", ("mlmha_m_00",), ("joint_attention",), 5),
    Group("train", "bf16", PLAIN, ("chunked_loss",), 5, size=""),
    Group("decode", "bf16", PLAIN, ("beam_search",), 8, size=""),
)


def main() -> None:
    start = time.monotonic()
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = arguments.add_argument
    add("data", help="folder made by fairseq-preprocess")
    add("--seconds", type=float, default=120, help="for everything (default: 120)")
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--size", default="_iwslt", help="end of the architectures' names (default: _iwslt)")
    add("--groups", type=int, nargs="+", default=range(len(GROUPS)), help="these, from 0")
    add("--subset", default="test", help="text (default: test)")
    add("--max-tokens", type=int, default=4096, help="of a batch (default: 4096)")
    add("--batches", type=int, default=6, help="different ones (default: 6)")
    add("--rounds", type=int, default=60, help="at most (default: 60)")
    add("--length", type=int, default=20, help="of hypotheses (default: 20)")
    add("--threads", type=int, default=1, help="of the CPU (default: 1)")
    options = arguments.parse_args()
    logging.disable(logging.WARNING)  # fairseq's
    warnings.simplefilter("ignore")
    options.what = "steps"
    for number in options.groups:
        group = GROUPS[number]
        left = options.seconds - (time.monotonic() - start)
        if left < 5:
            break
        size = options.size if group.size is None else group.size
        # --device cpu is for trying this program
        options.precision = group.precision if options.device == "cuda" else "fp32"
        options.mode, options.without = group.mode, group.without
        print(f"\n{number}: {group.mode}, {options.precision}, size {size!r}", flush=True)
        systems = [f"transformer_{name}{size}" for name in group.systems]
        try:
            rows = compare_steps(group.mode, systems, options, seconds=min(group.seconds, left))
            print(table(rows, options))
        except Exception:  # the other groups are still worth their time
            traceback.print_exc(limit=-4, file=sys.stdout)
        seconds = time.monotonic() - start
        print(f"{seconds:.0f} s so far", flush=True)


if __name__ == "__main__":
    main()
