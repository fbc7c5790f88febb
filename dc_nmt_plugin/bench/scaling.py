"""Measures how time and memory grow with the size of text and model."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from . import LEAST_TYPES, MODES
from .comparison import make_step, memory_of, time_of
from .data import random_batches, to_device
from .subjects import Setting, with_flags

Flags = Callable[[int, int], str]  # (value, greatest value) → flags of the model


@dataclass(frozen=True)
class Axis:
    """Describes a quantity that grows.

    Attributes:
        label: its name in tables and figures
        values: default values, rising
        modes: modes that it affects
        flags: of the model
        least: smallest valid value
    """

    label: str
    values: tuple[int, ...]
    modes: tuple[str, ...] = MODES
    flags: Flags = lambda value, greatest: ""
    least: int = 1


def _auxiliary(count: int, greatest: int) -> str:
    """Returns settings with auxiliary decoders on the lowest encoder layers, plus one layer."""
    layers = ",".join(str(layer) for layer in range(1, count + 1))
    return f"--encoder-layers {greatest + 1} --aux-layers '{layers}'"


AXES = {
    "length": Axis("tokens a sentence", (10, 30, 100, 300, 1000)),
    "layers": Axis(
        "layers of encoder and decoder",
        (1, 2, 4, 8, 16),
        flags=lambda value, _: f"--encoder-layers {value} --decoder-layers {value}",
    ),
    "source-layers": Axis(
        "encoder layers that the decoder attends to",
        (2, 4, 8),
        flags=lambda value, greatest: f"--encoder-layers {greatest} --source-layers {value}",
    ),
    "decoders": Axis("auxiliary decoders", (1, 2, 3, 4), flags=_auxiliary),
    "beam": Axis("hypotheses a sentence", (1, 2, 4, 8, 16), modes=("decode",)),
    "vocabulary": Axis("types", (1000, 4000, 16000, 64000), least=LEAST_TYPES),
}
"""Name → what grows; all else stays as ``dc-nmt bench`` has it."""


def scale(
    axis: str,
    values: Sequence[int],
    archs: Sequence[str],
    against: str,
    *,
    modes: Sequence[str],
    setting: Setting,
    vocabulary: int,
    max_tokens: int,
    rounds: int,
    clock: Callable[[], float],
    with_memory: bool,
) -> list[dict[str, Any]]:
    """Returns time and memory at every value, with interleaved subjects.

    Args:
        axis: a key of :data:`AXES`
        values: of the axis, rising
        archs: architectures, with flags behind their names
        against: the baseline
        modes: of training and decoding; modes that the axis does not affect are left out
        setting: device, precision, beam, and the length of sentences and hypotheses
        vocabulary: types
        max_tokens: of a batch; for ``length``, of the batch with the longest sentences; batches of
            shorter sentences have as many sentences
        rounds: timed rounds at each value
        clock: seconds
        with_memory: measure peak memory too

    Returns:
        a row for each mode and subject: ``{"mode", "name", "values", "seconds", "memory_mib",
        "exponent", "memory_exponent"}``, seconds (of the fastest round) and MiB one a value, for a
        batch, no MiB without `with_memory`; exponents of :func:`exponent`. After an interrupt,
        the values that are finished

    Raises:
        KeyboardInterrupt: no value is finished
    """
    found = AXES[axis]
    names = list(dict.fromkeys([against, *archs]))

    def costs_at(mode: str, value: int) -> dict[str, tuple[float, float | None]]:
        """Returns seconds and MiB of every subject."""
        length = value if axis == "length" else setting.length
        here = replace(setting, length=length, beam=value if axis == "beam" else setting.beam)
        task, samples = random_batches(
            vocabulary=value if axis == "vocabulary" else vocabulary,
            sentences=max(1, max_tokens // (values[-1] if axis == "length" else length)),
            length=length,
            batches=1,
        )
        samples = to_device(samples, setting.device)
        flags = found.flags(value, values[-1])
        like = with_flags(archs[0], flags)
        make = {
            name: partial(make_step, mode, with_flags(name, flags), like, task, here)
            for name in names
        }
        times = time_of(
            make,
            samples,
            device=setting.device,
            rounds=rounds,
            clock=clock,
            title=f"{mode}, {axis} {value}",
        )
        return {
            name: (
                min(times[name]),
                memory_of(make[name], setting.device, samples[0]) if with_memory else None,
            )
            for name in names
        }

    rows: list[dict[str, Any]] = []
    for mode in (mode for mode in found.modes if mode in modes):
        finished: dict[int, dict[str, tuple[float, float | None]]] = {}
        with suppress(KeyboardInterrupt):
            for value in values:
                finished[value] = costs_at(mode, value)
        for name in names if finished else ():
            seconds = [costs[name][0] for costs in finished.values()]
            peaks = [costs[name][1] for costs in finished.values()]
            memory = [peak for peak in peaks if peak is not None]
            rows.append(
                {
                    "mode": mode,
                    "name": name,
                    "values": list(finished),
                    "seconds": seconds,
                    "memory_mib": memory,
                    "exponent": exponent(list(finished), seconds),
                    "memory_exponent": exponent(list(finished), memory),
                }
            )
        if len(finished) < len(values):
            break
    if not rows:
        raise KeyboardInterrupt
    return rows


def exponent(values: Sequence[float], costs: Sequence[float]) -> float | None:
    """Returns the exponent e of the growth ``c · valueᵉ`` at the upper end.

    Constant costs (calls, parameters) lower the exponent at small values. So only the middle value
    and larger values are used.

    Args:
        values: rising
        costs: one a value, or none

    Returns:
        least-squares slope of log cost over log value; None for fewer than two values or a cost
        of zero
    """
    upper = list(zip(values, costs, strict=False))[(len(values) - 1) // 2 :]
    if len(upper) < 2 or any(value <= 0 or cost <= 0 for value, cost in upper):
        return None
    slope: float = statistics.linear_regression(
        [math.log(value) for value, _ in upper], [math.log(cost) for _, cost in upper]
    ).slope
    return slope
