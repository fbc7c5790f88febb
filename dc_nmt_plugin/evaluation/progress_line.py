"""One readable line from the log of a running ``fairseq-train``."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import deque
from collections.abc import Iterable
from typing import IO

from .logs import parse_statistics

LAST_WORDS = 20  # lines of the log that are shown when a run stops early
RECENT = 30  # lines of the log whose speed is shown: that of one jumps


class ProgressLine:
    """Turns log lines into one progress line, overwritten on a terminal, else now and then.

    Args:
        name: of the model
        updates: of the whole run
        interval: seconds between two lines outside a terminal
    """

    def __init__(self, name: str, updates: int, interval: float = 10.0) -> None:
        self.name, self.updates, self.interval = name, updates, interval
        self.finished = False
        self._valid = ""
        self._shown = 0.0
        self._done: int | None = None
        self._recent: deque[tuple[int, float, float]] = deque(maxlen=RECENT)
        # runs that train at the same time would overwrite each other's line
        self._terminal = sys.stdout.isatty() and multiprocessing.parent_process() is None

    def follow(self, output: Iterable[bytes], log: IO[bytes]) -> list[str]:
        """Copies the output of ``fairseq-train`` into its log, and shows it.

        Returns:
            its last lines
        """
        tail: deque[str] = deque(maxlen=LAST_WORDS)
        for raw in output:
            log.write(raw)
            log.flush()
            tail.append(raw.decode("utf-8", errors="replace"))
            self._feed(tail[-1])
        if self._terminal and self._shown:
            print()
        return list(tail)

    def _feed(self, text: str) -> None:
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
        """Returns the line for the statistics of a log's next line."""
        done, rate = int(values["num_updates"]), float(values["ups"])
        line = f"  {self.name}: {done}/{self.updates} updates  loss {values['loss']}{self._valid}"
        # a first line's speed is that of the start; after a resumption the updates go back
        if self._done is not None and done > self._done and rate > 0:
            more = done - self._done
            self._recent.append((more, more / rate * float(values["wps"]), more / rate))
        self._done = done
        if self._recent:
            updates, tokens, seconds = map(sum, zip(*self._recent, strict=True))
            line += f"  {tokens / seconds:,.0f} tokens/s"
            if done < self.updates:
                left = round((self.updates - done) * seconds / updates)
                line += f"  {left // 60}:{left % 60:02d} left"
        return line

    @staticmethod
    def last_words(lines: Iterable[str]) -> None:
        """Prints the last lines of a run that stopped early to standard error."""
        sys.stderr.write(
            "".join(["\nTraining stopped early. The last lines of its log:\n", *lines])
        )

    def _show(self, line: str, last: bool) -> None:
        now = time.monotonic()
        if self._terminal:
            print(f"\r\x1b[K{line}", end="", flush=True)
        elif last or now - self._shown >= self.interval:
            print(line, flush=True)
        else:
            return
        self._shown = now
