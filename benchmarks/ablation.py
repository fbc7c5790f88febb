"""Groups of measurements of every architecture and piece of speed, most important first."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any, NamedTuple

from programs import compare_programs

ALL = (
    "standard",
    "dc",
    "ctxaware",
    "cross_agg",
    "mlmha",
    "mlmha_m_00",
    "mlmha_iter_c_agg",
    "ms_aux",
    "ms_aux_aif",
)


class Group(NamedTuple):
    """Describes systems that are measured in turn."""

    mode: str  # train or decode
    flag: str  # precision; fairseq-generate does not know --bf16
    systems: tuple[str, ...]  # architectures without first word and size; flags may follow
    without: tuple[str, ...]  # pieces that are switched off, one at a time
    seconds: float  # at most, after the start of the programs
    size: str = "_iwslt"  # end of the architectures' names


GROUPS = (
    Group("train", "--bf16", ALL, (), 30),
    Group("decode", "--fp16", ALL, (), 30),
    Group("train", "--bf16", ("standard", "standard --cuda-graphs"), ("optimizer",), 60),
    Group("train", "--bf16", ("standard",), (), 15, size=""),
    Group("decode", "--fp16", ("standard",), ("beam_search",), 15, size=""),
    Group("decode", "--fp16", ("standard", "mlmha_m_00"), ("beam_search", "joint_attention"), 15),
    Group("train", "--amp", ("standard",), (), 10),
)


def measure_groups(options: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yields title and rows of each group, until the time of ``--seconds`` is over.

    On a CPU everything is in float32, and systems with flags of a GPU are left out.
    """
    start = time.monotonic()
    for group in GROUPS:
        left = options.seconds - (time.monotonic() - start)
        if left < 5:
            return
        options.without = group.without
        on_gpu = options.device == "cuda"
        options.flags = [group.flag] if on_gpu else []
        parts = [name.partition(" ") for name in group.systems if on_gpu or " " not in name]
        systems = [f"transformer_{name}{group.size} {flags}".strip() for name, _, flags in parts]
        title = f"{group.mode} {' '.join(options.flags)}, size {group.size or '_base'}"
        try:
            seconds = min(group.seconds, left)
            yield title, compare_programs(group.mode, systems, options, seconds=seconds)
        except (Exception, SystemExit):  # the other groups are still worth their time
            traceback.print_exc(limit=-4, file=sys.stdout)
