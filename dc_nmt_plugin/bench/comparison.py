"""Architectures timed side by side with a baseline, and the baseline with itself as a control."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from . import MODES
from .measure import Ratio, interleave, peak_memory, ratio
from .subjects import Sample, Setting, decoding_step, training_step

STEPS = dict(zip(MODES, (training_step, decoding_step), strict=True))
CONTROL = "control"


def compare(
    mode: str,
    archs: Sequence[str],
    against: str,
    *,
    task: Any,
    samples: list[Sample],
    setting: Setting,
    rounds: int,
    clock: Callable[[], float],
    with_memory: bool,
    progress: Callable[[int, int], None],
) -> list[dict[str, Any]]:
    """One row for the baseline, its control and each architecture.

    Args:
        mode: one of MODES
        archs: architectures; the baseline may be among them
        against: the baseline
        task: of the samples
        samples: batches, used in turn
        setting: device, precision and decoding
        rounds: timed rounds
        clock: seconds
        with_memory: measure peak memory too
        progress: called with the number of a round and of all rounds
    """
    make = STEPS[mode]
    like = archs[0]
    names = {against: against, CONTROL: against}
    names |= {name: name for name in archs if name != against}
    # before anything is timed: a process that has run once has memory to reuse
    memory = {
        label: peak_memory(
            partial(run_once, make, name, like, task, setting, samples[0]), setting.device
        )
        for label, name in names.items()
        if with_memory and label != CONTROL
    }
    steps = {label: make(name, like, task, setting) for label, name in names.items()}
    times = interleave(steps, samples, rounds=rounds, clock=clock, progress=progress)
    del steps
    used = [samples[i % len(samples)] for i in range(rounds)]
    results = []
    for label in names:
        if mode == "train":
            amount = [sample["ntokens"] for sample in used]
        else:
            amount = [sample["nsentences"] for sample in used]
        speeds = [n / seconds for n, seconds in zip(amount, times[label], strict=True)]
        speedup: Ratio = ratio(times[against], times[label])
        row: dict[str, Any] = {
            "mode": mode,
            "name": label,
            "speed": statistics.median(speeds),
            "updates_per_s": 1 / statistics.median(times[label]) if mode == "train" else None,
            "ratio": speedup.median,
            "ratio_low": speedup.low,
            "ratio_high": speedup.high,
            "peak_memory_mib": memory.get(label),
        }
        results.append(row)
    return results


def processor(device: str) -> str:
    """What a device is, in words."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
        return f"{names[0]}, {len(names)} cores"
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def run_once(make: Any, name: str, like: str, task: Any, setting: Setting, sample: Sample) -> None:
    """Make one of :data:`STEPS` and take it: what :func:`.measure.peak_memory` looks at."""
    make(name, like, task, setting)(sample)
