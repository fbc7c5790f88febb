"""``dc-nmt progress``: one readable line from the log of a running ``fairseq-train``.

Reads the log on standard input, appends it unchanged to a file, and shows updates, loss and
speed: on a terminal as one line that is written over, elsewhere as a line every ten seconds.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from ..evaluation.logs import parse_statistics


def main(argv: Sequence[str] | None = None) -> int:
    """``fairseq-train … --log-format json 2>&1 | dc-nmt progress …``."""
    parser = argparse.ArgumentParser(prog="dc-nmt progress", description=__doc__)
    parser.add_argument("--name", required=True, help="what is being trained")
    parser.add_argument("--updates", required=True, type=int, help="how many there will be")
    parser.add_argument("--log", required=True, type=Path, help="file to append to")
    parser.add_argument("--interval", type=float, default=10.0, help="seconds, off a terminal")
    args = parser.parse_args(argv)
    line = ProgressLine(args.name, args.updates, args.interval)
    tail: deque[str] = deque(maxlen=20)
    # fairseq-train receives the interrupt too and ends; what it still says belongs to the log.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with open(args.log, "a", encoding="utf-8") as log:
        for text in sys.stdin:
            log.write(text)
            log.flush()
            tail.append(text)
            line.feed(text)
    line.close()
    if not line.finished:
        sys.stderr.write("".join(["\nThe training stopped early; its last words:\n", *tail]))
    return 0


class ProgressLine:
    """Turns log lines into the one line shown."""

    def __init__(self, name: str, updates: int, interval: float) -> None:
        self.name, self.updates, self.interval = name, updates, interval
        self.finished = False
        self._valid = ""
        self._shown = 0.0
        self._terminal = sys.stdout.isatty()

    def feed(self, text: str) -> None:
        if "done training in" in text:
            self.finished = True
        parsed = parse_statistics(text.rstrip("\n"))
        if parsed is None:
            return
        kind, values = parsed
        if kind == "valid":
            self._valid = f"  valid loss {values.get('valid_loss', '?')}"
        elif kind == "train_inner":
            self._show(self.describe(values), int(values["num_updates"]) >= self.updates)

    def describe(self, values: dict[str, str]) -> str:
        done = int(values["num_updates"])
        line = f"  {self.name}: {done}/{self.updates} updates  loss {values['loss']}{self._valid}"
        line += f"  {float(values['wps']):,.0f} tokens/s"
        rate = float(values["ups"])
        if rate and done < self.updates:
            minutes, seconds = divmod(round((self.updates - done) / rate), 60)
            line += f"  {minutes}:{seconds:02d} left"
        return line

    def close(self) -> None:
        if self._terminal and self._shown:
            print()

    def _show(self, line: str, last: bool) -> None:
        now = time.monotonic()
        if self._terminal:
            print(f"\r\x1b[K{line}", end="", flush=True)
        elif last or now - self._shown >= self.interval:
            print(line, flush=True)
        else:
            return
        self._shown = now
