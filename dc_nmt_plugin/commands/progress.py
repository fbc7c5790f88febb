"""``dc-nmt progress``: shows the progress of a running ``fairseq-train`` on one line.

Reads the log from standard input, appends it unchanged to a file, and shows updates, loss and
speed. A terminal shows one line that is updated; other outputs get a line every ten seconds.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from ..evaluation.progress_line import ProgressLine
from .parser import Parser, number


def main(argv: Sequence[str] | None = None) -> int:
    """Runs as ``fairseq-train … --log-format json 2>&1 | dc-nmt progress …``.

    Returns:
        exit status: 0 for a finished training run, 1 for a run that stopped early
    """
    parser = Parser(prog="dc-nmt progress", description=__doc__)
    parser.add_argument("--name", required=True, help="name of the model to show")
    parser.add_argument(
        "--max-update", required=True, type=number(1), metavar="N", help="total number of updates"
    )
    parser.add_argument("--log", required=True, type=Path, help="file to which the log is appended")
    parser.add_argument(
        "--interval", type=float, default=10.0, help="seconds between lines outside a terminal"
    )
    args = parser.parse_args(argv)
    line = ProgressLine(args.name, args.max_update, args.interval)
    # fairseq-train receives the interrupt too and ends; what it still says belongs to the log.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with open(args.log, "ab") as log:
        tail = line.follow(sys.stdin.buffer, log)
    if not line.finished:
        line.last_words(tail)
        return 1
    return 0
