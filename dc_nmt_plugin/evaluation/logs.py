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
from ..runs.record import Training
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
        UserError: the file is not a training log
    """
    parameters, arch = None, None
    speeds: list[float] = []
    clock: list[tuple[int, float]] = []
    for line in read_log(path):
        if match := PARAMETERS.search(line):
            parameters = int(match[1].replace(",", ""))
        if arch is None and (match := ARCHITECTURE.search(line)):
            arch = match[1] or match[2]
        kind, values = parse_statistics(line) or ("", {})
        if kind == "train_inner":
            speeds.append(float(values["wps"]))
            clock.append((int(values["num_updates"]), float(values["wall"])))
    if parameters is None or not speeds:
        raise UserError(f"{path}: not a log of fairseq-train --log-format json")
    # The first interval includes warming up of caches and has few steps.
    speed = statistics.median(speeds[1:] or speeds)
    updates = max(done for done, _ in clock)
    return TrainingLog(parameters, updates, speed, _seconds(clock), arch)


def _seconds(clock: list[tuple[int, float]]) -> float | None:
    """Returns the time of all updates, each counted once. Each process has its own clock.

    Args:
        clock: (updates, seconds since the process began), in the log's order
    """
    parts: list[list[tuple[int, float]]] = []
    for updates, seconds in clock:
        if not parts or updates <= parts[-1][-1][0] or seconds < parts[-1][-1][1]:
            parts.append([])
        parts[-1].append((updates, seconds))
    total = 0.0
    for number, part in enumerate(parts):
        # the next process repeats the updates after the last checkpoint
        end = parts[number + 1][0][0] if number + 1 < len(parts) else part[-1][0] + 1
        counted = [seconds for updates, seconds in part if updates < end]
        if counted and counted[-1] == 0:  # an old log of a continued run, without times
            return None
        total += counted[-1] if counted else 0.0
    return total


def measured(training: Training, path: Path) -> Training:
    """Returns what is known about a training run, with the numbers in its log.

    Raises:
        UserError: the file is not a log of fairseq-train
    """
    log = read_training_log(path)
    return replace(
        training,
        updates=log.updates,
        parameters=log.parameters,
        tokens_per_second=log.tokens_per_second,
        seconds=log.train_seconds,
    )
