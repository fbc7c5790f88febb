"""Parameters, updates and speed from the log of ``fairseq-train --log-format json``."""

from __future__ import annotations

import json
import os
import re
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..runs.schema import Training
from ..text.lines import read_log

ARCHITECTURE = re.compile(r"\barch='(\w+)'|'arch': '(\w+)'")
PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+)")
STATISTICS = re.compile(r"\| (train_inner|train|valid) \| (\{.*\})$")


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


def measured(training: Training, path: Path) -> Training:
    """Returns what is known about a training run, with the numbers in its log.

    Raises:
        UserError: the file is not a log of fairseq-train
    """
    found = read_training_log(path)
    return replace(
        training,
        updates=found.updates,
        parameters=found.parameters,
        tokens_per_second=found.tokens_per_second,
        seconds=found.train_seconds,
    )
