"""Interleaved timing, and the statistics of ratios."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..allocator import return_freed_memory
from ..machine import processor
from ..progress_bar import bar


@dataclass(frozen=True)
class Ratio:
    """Holds median and quartiles of paired speed ratios, baseline time / subject time."""

    median: float
    low: float
    high: float


class Interrupted(KeyboardInterrupt):
    """An interrupt in the middle of a measurement.

    Attributes:
        times: name → seconds of the finished rounds
    """

    def __init__(self, times: dict[str, list[float]]) -> None:
        super().__init__()
        self.times = times


def interleave(
    runs: Mapping[str, Callable[[int], float]],
    *,
    batches: int,
    rounds: int,
    title: str = "",
    warm_up: int = 1,
) -> dict[str, list[float]]:
    """Times every subject on the same batch, one after the other, round by round.

    The order is rotated each round, so that no subject always follows the same one.

    Args:
        runs: name → function that runs a numbered batch and returns its seconds, see :func:`timed`
        batches: number of batches, used in turn
        rounds: timed rounds
        title: of the progress bar
        warm_up: batches that are run before the first round; all of them on a GPU, which allocates
            memory and loads programs for every new shape

    Returns:
        name → seconds, one a round

    Raises:
        Interrupted: Ctrl-C; with the rounds that all subjects have finished
    """
    names = list(runs)
    times: dict[str, list[float]] = {name: [] for name in names}
    try:
        for number in bar(range(-warm_up, rounds), desc=title, unit=" rounds"):
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                seconds = runs[name]((number if number >= 0 else number + warm_up) % batches)
                if number >= 0:
                    times[name].append(seconds)
    except KeyboardInterrupt:
        finished = min(map(len, times.values()))
        raise Interrupted({name: own[:finished] for name, own in times.items()}) from None
    return times


def finished_rounds(measure: Callable[[], dict[str, list[float]]]) -> dict[str, list[float]]:
    """Returns the times of :func:`interleave`; after an interrupt, those of the finished rounds.

    Raises:
        KeyboardInterrupt: no round is finished
    """
    try:
        return measure()
    except Interrupted as error:
        if not any(error.times.values()):
            raise
        return error.times


def by_mode(
    modes: Sequence[str], rounds: int, measure: Callable[[str], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Returns the rows of all modes; after an interrupt, those of the finished rounds.

    Args:
        modes: such as ``train``
        rounds: wanted
        measure: mode → rows, each with its ``rounds``

    Raises:
        KeyboardInterrupt: no round is finished
    """
    rows: list[dict[str, Any]] = []
    for mode in modes:
        try:
            found = measure(mode)
        except KeyboardInterrupt:
            if not rows:
                raise
            break
        rows += found
        if found[0]["rounds"] < rounds:
            break
    return rows


def timed(
    make: Callable[[], Callable[[Any], None]],
    samples: Sequence[Any],
    clock: Callable[[], float],
) -> Callable[[int], float]:
    """Returns a function that runs a step on a numbered batch and returns its seconds.

    Args:
        make: makes the step
        samples: batches
        clock: seconds
    """
    step = make()

    def run(number: int) -> float:
        start = clock()
        step(samples[number])
        return clock() - start

    return run


def ratio(baseline: Sequence[float], subject: Sequence[float]) -> Ratio:
    """Returns the speed relative to the baseline, over paired rounds."""
    pairs = [b / s for b, s in zip(baseline, subject, strict=True)]
    if len(pairs) < 2:
        return Ratio(pairs[0], pairs[0], pairs[0])
    low, median, high = statistics.quantiles(pairs, n=4, method="inclusive")
    return Ratio(median, low, high)


def make_clock(device: str, threads: int) -> tuple[Callable[[], float], dict[str, Any]]:
    """Returns the clock to use, and the conditions of a measurement: machine, threads, clock.

    One CPU thread is timed by CPU time, which other programs change little. Several threads and
    GPUs are timed by the wall clock.
    """

    def synchronised() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    clock, name = time.perf_counter, "wall clock"
    if device == "cuda":
        clock = synchronised
    elif threads == 1:
        clock, name = time.process_time, "CPU time"
    return clock, {"machine": processor(device), "threads": threads, "clock": name}


def peak_memory(run: Callable[[], None], device: str) -> float | None:
    """Returns the peak memory of `run` in MiB: allocated on the GPU, or added to this process.

    On the CPU, use a new process (:func:`.apart.apart`), because memory that was used and freed
    before is not counted. None if the system does not report it (macOS).
    """
    if device == "cuda":
        gc.collect()  # memory of the last subject
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        run()
        return torch.cuda.max_memory_allocated() / 2**20
    if not os.path.exists("/proc/self/statm"):
        return None
    return_freed_memory()
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # a fork's peak begins with its parent's
    before = _resident()
    run()
    return max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before, 0.0)


def _resident() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    return pages * resource.getpagesize() / 2**20
