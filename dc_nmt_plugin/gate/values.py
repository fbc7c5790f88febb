"""Values of single flags."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ..checkpoints.literals import plain_value
from ..errors import UserError
from ..flags import flag_name as flag
from .command import Command
from .ranges import ABOVE_ZERO, AT_LEAST, BETAS, EACH_AT_LEAST, HALF_PRECISION, INTERVALS


def range_problems(command: Command, values: Mapping[str, Any] | None = None) -> Iterator[str]:
    values = command.flags if values is None else values
    for name, value in values.items():
        if name in AT_LEAST and isinstance(value, str) and value.lstrip("-").isdecimal():
            value = int(value)  # where the default is another flag's value
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            continue
        if value == command.defaults.get(name) and name not in command.given:
            continue
        if math.isnan(value):
            yield f"{flag(name)}: {value} is not a number."
        elif value == command.defaults.get(name) and value < 0:
            continue  # written out, what switches it off
        elif name in AT_LEAST and value < AT_LEAST[name]:
            yield f"{flag(name)}: {value} is not at least {AT_LEAST[name]:g}."
        elif name in ABOVE_ZERO and value <= 0:
            yield f"{flag(name)}: {value} is not above 0."
        elif name in INTERVALS:
            low, high, low_too, high_too = INTERVALS[name]
            if not (
                low < value < high or (value == low and low_too) or (value == high and high_too)
            ):
                ends = "[" if low_too else "(", "]" if high_too else ")"
                yield f"{flag(name)}: {value} is not in {ends[0]}{low:g}, {high:.10g}{ends[1]}."


def list_problems(command: Command) -> Iterator[str]:
    for name, least in EACH_AT_LEAST.items():
        values = command.set(name)
        if name not in command.given or not isinstance(values, (list, tuple)):
            continue
        for value in values:
            if value < least:
                yield f"{flag(name)}: {value} is not at least {least}."


def pair_problems(command: Command) -> Iterator[str]:
    for name in BETAS:
        value = command.set(name)
        if not isinstance(value, str):
            continue
        try:
            betas = plain_value(value)
            good = len(betas) == 2 and all(0 <= beta < 1 for beta in betas)
        except (UserError, TypeError):
            good = False
        if not good:
            yield f"{flag(name)}: {value!r} is not two numbers in [0, 1), such as '(0.9, 0.98)'."


def precision_problems(command: Command) -> Iterator[str]:
    on_cpu = command.set("cpu") or not torch.cuda.is_available()
    half = next((name for name in HALF_PRECISION if command.set(name)), None)
    if on_cpu and half:
        yield (
            f"{flag(half)}: half precision needs a GPU, and this run is on the CPU; leave it "
            "out (float32)."
        )


def limit_problems(command: Command) -> Iterator[str]:
    shards, shard = command.set("num_shards"), command.set("shard_id")
    if shards is not None and shard is not None and shard >= max(shards, 1):
        yield f"--shard-id: {shard} is not below --num-shards {shards}; the first is 0."
    if command.training and (shards or 1) > 1:
        yield "--num-shards: is for fairseq-generate; fairseq-train distributes by itself."
    world, rank = command.set("distributed_world_size"), command.set("distributed_rank")
    if command.generating and rank is not None and rank >= max(world or 1, 1):
        yield f"--distributed-rank: {rank} is not below --distributed-world-size {world}."
    # fairseq sets it with --bf16
    if command.set("tpu") and ("tpu" in command.given or not command.set("bf16")):
        yield "--tpu: this plugin runs on CPUs and GPUs; leave the flag out."
    if command.training and (command.set("model_parallel_size") or 1) > 1:
        yield "--model-parallel-size: needs Megatron's models; those of this plugin have none."
