"""``dc-nmt bench --int8``: decoding with 8-bit layers, beside float32."""

from __future__ import annotations

import argparse

from ..bench import CTRANSLATE2, PYTORCH, STOCK

DECODE = "decode"


def add_int8(parser: argparse.ArgumentParser) -> None:
    """Adds ``--int8``."""
    parser.add_argument(
        "--int8",
        action="store_true",
        help="measure decoding of every ARCH with 8-bit layers too (--mode decode, on a CPU)",
    )


def check_int8(args: argparse.Namespace) -> list[str]:
    """Returns a sentence for each problem of ``--int8``; measures decoding alone by default."""
    if not args.int8:
        return []
    from ..bench.subjects import subject
    from ..models.transformer.config import TransformerConfig

    problems, baselines = [], (STOCK, PYTORCH, CTRANSLATE2)
    args.mode = args.mode or [DECODE]
    if other := [mode for mode in args.mode if mode != DECODE]:
        problems.append(f"--mode {other[0]}: --int8 is for decoding; give --mode {DECODE}.")
    if given := [flag for flag in ("count", "profile", "scaling") if getattr(args, flag)]:
        problems.append(f"--{given[0]}: --int8 measures time; leave one of them out.")
    if args.device == "cuda":
        problems.append("--device cuda: --int8 is for CPUs; choose cpu.")
    if args.precision != "float32":
        problems.append(f"--precision {args.precision}: --int8 stands beside float32.")
    for name in args.arch:
        if name in baselines or subject(name).config is not TransformerConfig:
            problems.append(f"--int8: {name} is no Transformer of this plugin; leave --int8 out.")
    return problems
