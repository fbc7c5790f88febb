"""The reader of logs of ``fairseq-train --log-format json``, finished and running ones."""

from __future__ import annotations

import json
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple

from tqdm import tqdm

STATISTICS = re.compile(r"\| (train_inner|train|valid) \| (\{.*\})$")
LAST_WORDS = 20  # lines of the log that are shown when a run stops early


def parse_statistics(line: str) -> tuple[str, dict[str, Any]] | None:
    """Returns (kind, values) of a statistics line; kind is train_inner, train or valid."""
    match = STATISTICS.search(line)
    if not match:
        return None
    try:
        values = json.loads(match[2])
    except json.JSONDecodeError:
        return None  # an incomplete line, from a killed run
    return match[1], values


class Statistics(NamedTuple):
    """What a line says: of the training since the line before, or of a validation.

    Attributes:
        split: ``train`` or ``valid``
        updates: made so far
        values: as logged, by names without the split
    """

    split: str
    updates: int
    values: dict[str, Any]


def read_statistics(lines: Iterable[str]) -> Iterator[Statistics]:
    """Yields the statistics in a log that have a number of updates, without the sums of epochs."""
    for line in lines:
        kind, values = parse_statistics(line.rstrip("\n")) or ("", {})
        if kind in ("", "train"):
            continue
        split = "train" if kind == "train_inner" else kind
        values = {name.removeprefix(f"{split}_"): value for name, value in values.items()}
        if "num_updates" in values:
            yield Statistics(split, int(values["num_updates"]), values)


def follow_training(output: Iterable[bytes], log: IO[bytes], name: str, updates: int) -> list[str]:
    """Copies the output of ``fairseq-train`` into its log, shows a progress line with `name`.

    Returns:
        the last lines
    """
    tail: deque[str] = deque(maxlen=LAST_WORDS)
    shown: dict[str, str] = {}
    interval = 0.1 if sys.stderr.isatty() else 10  # seconds
    with tqdm(total=updates, desc=name, unit="update", mininterval=interval) as bar:
        for raw in output:
            log.write(raw)
            log.flush()
            tail.append(raw.decode("utf-8", errors="replace"))
            kind, values = parse_statistics(tail[-1].rstrip("\n")) or ("", {})
            if kind == "valid":
                shown["valid loss"] = values.get("valid_loss", "?")
            elif kind == "train_inner":
                done = int(values["num_updates"])
                if bar.n == 0:  # a continued run: its speed is that of the new updates
                    bar.initial = done
                shown["loss"] = values["loss"]
                shown["tokens/s"] = values["wps"]
                bar.set_postfix(shown, refresh=False)
                bar.update(done - bar.n)
    return list(tail)
