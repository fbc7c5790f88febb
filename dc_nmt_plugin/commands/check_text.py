"""``dc-nmt check-text``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ..text.lines import check_parallel


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt check-text``: are pairs of files usable as parallel text?"""
    parser = argparse.ArgumentParser(
        prog="dc-nmt check-text",
        description="Check pairs of files of one sentence a line: UTF-8, as many lines in both, "
        "no line blank.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="SOURCE TARGET")
    files = parser.parse_args(argv).files
    if len(files) % 2:
        parser.error(f"{len(files)} files given, but they are checked in pairs")
    for source, target in zip(files[::2], files[1::2], strict=True):
        print(f"{source} and {target}: {check_parallel(source, target)} pairs")
    return 0
