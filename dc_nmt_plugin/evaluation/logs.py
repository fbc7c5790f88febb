"""Parameters, updates and speed from the log of ``fairseq-train --log-format json``."""

from __future__ import annotations

import json
import os
import re
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..text.lines import read_log

ARCHITECTURE = re.compile(r"\barch='(\w+)'|'arch': '(\w+)'")
DECODER = re.compile(r"'decode_with': '([^']+)'")
WITHOUT_FUSION = "'no_aux_fusion': True"
PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+)")
STATISTICS = re.compile(r"\| (train_inner|train|valid) \| (\{.*\})$")
SEARCH_FLAGS = ("beam", "lenpen", "length_penalty", "mask_source_layers", "no_aux_fusion")


@dataclass(frozen=True)
class TrainingLog:
    """Statistics of one training log."""

    parameters: int
    updates: int
    tokens_per_second: float  # target tokens, median over the log's intervals
    train_seconds: float | None  # with validation and saving; None if not in the log
    arch: str | None = None


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


def read_training_log(path: str | os.PathLike[str]) -> TrainingLog:
    """Reads a training log; a continued run's log has its parts one after the other.

    Raises:
        UserError: the file is not a training log.
    """
    parameters, arch, updates, speeds = None, None, 0, []
    clock = []
    for line in read_log(path):
        if match := PARAMETERS.search(line):
            parameters = int(match[1].replace(",", ""))
        if arch is None and (match := ARCHITECTURE.search(line)):
            arch = match[1] or match[2]
        parsed = parse_statistics(line)
        if parsed is None or parsed[0] != "train_inner":
            continue
        values = parsed[1]
        updates = max(updates, int(values["num_updates"]))
        speeds.append(float(values["wps"]))
        clock.append((int(values["num_updates"]), float(values["wall"])))
    if parameters is None or not speeds:
        raise UserError(f"{path}: not a log of fairseq-train --log-format json")
    # The first interval includes warming up of caches and has few steps.
    speed = statistics.median(speeds[1:] or speeds)
    return TrainingLog(parameters, updates, speed, _seconds(clock), arch)


def _seconds(clock: list[tuple[int, float]]) -> float | None:
    """Returns the time of all updates, each counted once. Each process has its own clock.

    Args:
        clock: (updates, seconds since the process began), in the log's order
    """
    parts: list[list[tuple[int, float]]] = []
    for point in clock:
        if not parts or point[0] <= parts[-1][-1][0] or point[1] < parts[-1][-1][1]:
            parts.append([])
        parts[-1].append(point)
    # the next process repeats the updates after the last checkpoint
    ends = [part[0][0] for part in parts[1:]] + [clock[-1][0] + 1]
    kept = [
        [seconds for updates, seconds in part if updates < end]
        for part, end in zip(parts, ends, strict=True)
    ]
    if any(part and part[-1] == 0 for part in kept):  # an old log of a continued run, without times
        return None
    return sum(part[-1] for part in kept if part)


def read_decoder(path: str | os.PathLike[str]) -> str | None:
    """Returns the decoder of ``--decode-with`` and ``--no-aux-fusion`` in a generation log.

    None for the main decoder as trained, or when the log has no settings.
    """
    for line in read_log(path):
        if match := DECODER.search(line):
            found = [match[1]] if match[1] != "main" else []
            found += ["without fusion"] if WITHOUT_FUSION in line else []
            return " ".join(found) or None
    return None


def read_search(path: Path) -> dict[str, str]:
    """Returns the settings in the log of ``fairseq-generate``; empty if the log has none."""
    if not path.is_file():
        return {}
    text = path.read_text("utf-8", errors="replace")
    found = {}
    for name in (*SEARCH_FLAGS, "decode_with", "gen_subset"):
        if match := re.search(rf"'{name}': (?:'([^']*)'|([\w.+-]+))", text):
            found[name] = match[2] or match[1] or "''"
    return found
