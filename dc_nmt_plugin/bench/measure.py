"""Interleaved timing, and the statistics of ratios."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Ratio:
    """Median and quartiles of paired speed ratios, baseline time / subject time."""

    median: float
    low: float
    high: float


def interleave(
    steps: dict[str, Callable[[Any], None]],
    samples: Sequence[Any],
    *,
    rounds: int,
    clock: Callable[[], float],
    progress: Callable[[int, int], None],
) -> dict[str, list[float]]:
    """Time every step on the same batch, one after the other, round by round.

    The order turns by one each round, so that none always follows the same neighbour.

    Args:
        steps: name → what to time
        samples: batches, used in turn
        rounds: timed rounds; one more warms up
        clock: seconds
        progress: called with (round, rounds)

    Returns:
        name → seconds, one a round
    """
    names = list(steps)
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(-1, rounds):
        sample = samples[max(number, 0) % len(samples)]
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            start = clock()
            steps[name](sample)
            if number >= 0:
                times[name].append(clock() - start)
        progress(number + 1, rounds)
    return times


def ratio(baseline: Sequence[float], subject: Sequence[float]) -> Ratio:
    """How many times as fast as the baseline, over paired rounds."""
    pairs = [b / s for b, s in zip(baseline, subject, strict=True)]
    if len(pairs) < 2:
        return Ratio(pairs[0], pairs[0], pairs[0])
    low, median, high = statistics.quantiles(pairs, n=4, method="inclusive")
    return Ratio(median, low, high)


def make_clock(device: str, threads: int) -> tuple[Callable[[], float], str]:
    """The clock to use, and its name.

    One CPU thread is timed by its CPU time, which other programs do not change much; several
    threads and GPUs by the wall clock.
    """
    if device == "cuda":

        def synchronised() -> float:
            torch.cuda.synchronize()
            return time.perf_counter()

        return synchronised, "wall clock"
    if threads == 1:
        return time.process_time, "CPU time"
    return time.perf_counter, "wall clock"


def peak_memory(run: Callable[[], None], device: str) -> float:
    """Peak memory in MiB of `run`: allocated on the GPU, or of a process of its own on the CPU."""
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        run()
        return torch.cuda.max_memory_allocated() / 2**20
    # a fork starts from this process's memory: what it adds to its own peak is the run's
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(run, sender))
    process.start()
    sender.close()
    try:
        return float(receiver.recv())
    finally:
        process.join()


def _child(run: Callable[[], None], sender: Any) -> None:
    torch.set_num_threads(1)
    _return_freed_memory()
    before = _resident()
    run()
    sender.send(max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before, 0.0))
    sender.close()


def _return_freed_memory() -> None:
    """To the system, and begin a new peak: what the run takes of it would not be seen."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    if trim is not None:
        trim(0)
        with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
            file.write("5")


def _resident() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    return pages * resource.getpagesize() / 2**20
