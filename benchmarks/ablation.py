"""Groups of measurements of every piece of speed and every architecture, most important first."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any, NamedTuple

from steps import compare_steps

ALL = ("standard", "dc", "ctxaware", "cross_agg", "mlmha", "mlmha_m_00", "mlmha_iter_c_agg",
       "ms_aux", "ms_aux_aif")  # fmt: skip


class Group(NamedTuple):
    """Describes systems that are measured in turn.

    Attributes:
        mode, precision: of :func:`steps.compare_steps`
        systems: names of architectures without their first word and size
        without: pieces that are switched off, one at a time
        seconds: at most, after the warm-up
        size: end of the architectures' names
    """

    mode: str
    precision: str
    systems: tuple[str, ...]
    without: tuple[str, ...]
    seconds: float
    size: str = "_iwslt"


PLAIN = ("standard",)
GROUPS = (
    Group("train", "bf16", ALL, (), 12),
    Group("decode", "bf16", PLAIN, ("beam_search",), 6, size=""),
    Group("train", "bf16", PLAIN, (), 6, size=""),
    Group("decode", "bf16", ALL, (), 12),
    Group("decode", "bf16", PLAIN, ("beam_search", "onednn"), 10),
    Group("train", "fp32", PLAIN, ("dropout",), 5),
    Group("decode", "fp32", PLAIN, ("beam_search", "onednn"), 6),
    Group("train", "amp", PLAIN, (), 5),
    Group("decode", "bf16", ("mlmha_m_00",), ("joint_attention",), 5),
)


def measure_groups(options: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yields title and rows of each group, until the time of ``--seconds`` is over.

    On a CPU everything is in float32.
    """
    start = time.monotonic()
    for group in GROUPS:
        left = options.seconds - (time.monotonic() - start)
        if left < 5:
            return
        options.mode, options.without = group.mode, group.without
        options.precision = group.precision if options.device == "cuda" else "fp32"
        systems = [f"transformer_{name}{group.size}" for name in group.systems]
        title = f"{group.mode}, {options.precision}, size {group.size or '_base'}"
        try:
            seconds = min(group.seconds, left)
            yield title, compare_steps(group.mode, systems, options, seconds=seconds)
        except Exception:  # the other groups are still worth their time
            traceback.print_exc(limit=-4, file=sys.stdout)
