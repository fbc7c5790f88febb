"""Measures architectures against a baseline, and the baseline against itself as a control."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from ..errors import UserError
from ..machine import available_memory_gib
from . import INT8, MODES
from .apart import apart
from .measure import Ratio, finished_rounds, interleave, peak_memory, ratio, timed
from .subjects import (
    Sample,
    Setting,
    decoding_step,
    set_allocator,
    system_of,
    training_step,
    validation_step,
    with_positions,
)

STEPS = dict(zip(MODES, (training_step, decoding_step, validation_step), strict=True))
CONTROL = "control"
Step = Callable[[Sample], None]


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
    int8: bool = False,
) -> list[dict[str, Any]]:
    """Returns one row for the baseline, its control and each architecture.

    After an interrupt, the rows are of the rounds that are finished.

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
        int8: add a row with 8-bit layers for each architecture; decoding alone

    Raises:
        KeyboardInterrupt: no round is finished
        UserError: too little memory for all subjects, which live beside each other
    """
    like = archs[0]
    names = {against: against, CONTROL: against}
    names |= {name: name for name in archs if name != against}
    eight = {f"{name}{INT8}": name for name in archs} if int8 else {}
    names |= eight
    make = {
        label: partial(make_step, mode, name, like, task, replace(setting, int8=label in eight))
        for label, name in names.items()
    }
    memory = {
        label: memory_of(make[label], setting.device, samples[0])
        for label in names
        if with_memory and label != CONTROL
    }
    if setting.device == "cpu":
        check_memory([*memory.values(), memory.get(against)], available_memory_gib())
    times = finished_rounds(
        lambda: time_of(
            make, samples, device=setting.device, rounds=rounds, clock=clock, title=mode
        )
    )
    used = [samples[i % len(samples)] for i in range(len(times[against]))]
    results = []
    for label in names:
        counted = "nsentences" if mode == "decode" else "ntokens"
        amount = [sample[counted] for sample in used]
        speeds = [n / seconds for n, seconds in zip(amount, times[label], strict=True)]
        speedup: Ratio = ratio(times[against], times[label])
        row: dict[str, Any] = {
            "mode": mode,
            "name": label,
            "rounds": len(used),
            "system": None if label in eight else system_of(names[label]),
            "speed": statistics.median(speeds),
            "updates_per_s": 1 / statistics.median(times[label]) if mode == "train" else None,
            "ratio": speedup.median,
            "ratio_low": speedup.low,
            "ratio_high": speedup.high,
            "peak_memory_mib": memory.get(label),
        }
        results.append(row)
    return results


def check_memory(peaks: Sequence[float | None], available: float | None) -> None:
    """
    Args:
        peaks: peak memory of each process in MiB, None where it is not known
        available: memory left on this machine in GiB, None where it is not known

    Raises:
        UserError: it is too little; the system would stand still instead of measuring
    """
    needed = sum(peak or 0.0 for peak in peaks) / 1024
    if available is not None and needed > available:
        raise UserError(
            f"the {len(peaks)} models need {needed:.1f} GiB of memory beside each other, and "
            f"{available:.1f} GiB are available; name fewer in a call, or give less --max-tokens."
        )


def make_step(mode: str, name: str, like: str, task: Any, setting: Setting) -> Step:
    """Returns one of :data:`STEPS`; run it in a separate process, because it sets the allocator.

    Its model has positions for the setting's sentences.
    """
    set_allocator(name, setting.device)
    name, like = with_positions(name, setting.length), with_positions(like, setting.length)
    step: Step = STEPS[mode](name, like, task, setting)
    return step


def time_of(
    make: Mapping[str, Callable[[], Step]],
    samples: Sequence[Sample],
    *,
    device: str,
    rounds: int,
    clock: Callable[[], float],
    title: str,
) -> dict[str, list[float]]:
    """Returns seconds of every subject's steps, interleaved, each in a separate process.

    Args:
        make: label → what makes the step
        samples: batches, used in turn
        device: "cpu" or "cuda"
        rounds: timed rounds
        clock: seconds
        title: of the progress bar

    Returns:
        label → seconds, one a round
    """
    with ExitStack() as processes:
        runs = {
            label: processes.enter_context(apart(partial(timed, each, samples, clock), device))
            for label, each in make.items()
        }
        return interleave(
            runs,
            batches=len(samples),
            rounds=rounds,
            title=title,
            warm_up=len(samples) if device == "cuda" else 1,
        )


def memory_of(make: Callable[[], Step], device: str, sample: Sample) -> float | None:
    """Returns :func:`peak_memory` of making and running a subject's step, in its own process."""

    def measure(_: None) -> float | None:
        return peak_memory(lambda: make()(sample), device)

    with apart(lambda: measure, device) as run:
        return float(run(None))
