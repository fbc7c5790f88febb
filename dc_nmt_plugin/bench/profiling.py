"""Profiles the time of a step, and of its matrix products alone."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.mkldnn import to_mkldnn

from ..tasks.onednn_layers import OPERATION

OPTIMIZER = "optimizer"  # label of the part of a step that updates the parameters
KINDS = {
    "products": ("mm", "addmm", "addmm_", "bmm", "baddbmm", "baddbmm_", "addbmm", OPERATION),
    "attention": ("scaled_dot_product", "_transform_bias_rescale_qkv", "_native_multi_head"),
    "softmax and loss": ("softmax", "logsumexp", "exp_", "gather", "scatter"),
    "norms": ("layer_norm",),
    "dropout": ("dropout", "bernoulli", "random_"),
    "copies": ("copy_", "cat", "index", "clone", "embedding", "contiguous", "stack"),
}
"""Kind → operations, by name or by what a name contains; the first kind that fits counts."""

ELEMENTWISE = "elementwise"  # and all else
OUTSIDE = "Python"
REPEATS = 3
# torch's profiler announces each start and stop on standard error; 6 is above all its levels
os.environ.setdefault("KINETO_LOG_LEVEL", "6")


def time_by_kind(step: Callable[[Any], None], sample: Any, device: str) -> dict[str, float]:
    """Returns the seconds of the fastest of several calls of `step`, by kind of operation.

    On the CPU, each operation's own time; the remainder is Python and dispatch. On a GPU, the time
    of the kernels.
    """
    step(sample)
    return min((_profiled(step, sample, device) for _ in range(REPEATS)), key=_total)


def _total(seconds: dict[str, float]) -> float:
    return sum(seconds.values())


def _profiled(step: Callable[[Any], None], sample: Any, device: str) -> dict[str, float]:
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    with profile(activities=activities) as profiled:
        start = time.perf_counter()
        step(sample)
        if device == "cuda":
            torch.cuda.synchronize()
        whole = time.perf_counter() - start
    seconds = dict.fromkeys((*KINDS, OPTIMIZER, ELEMENTWISE), 0.0)
    for event in profiled.events():
        own = event.self_device_time_total if device == "cuda" else event.self_cpu_time_total
        if event.name.startswith(("aten::", "mkldnn::")):
            seconds[_kind(event)] += own / 1e6
    if device == "cpu":
        seconds[OUTSIDE] = max(0.0, whole - _total(seconds))
    return seconds


def _kind(event: Any) -> str:
    parent = event
    while parent is not None:
        if parent.name == OPTIMIZER:
            return OPTIMIZER
        parent = parent.cpu_parent
    name = event.name.split("::")[1]
    for kind, parts in KINDS.items():
        if any(part == name if kind == "products" else part in name for part in parts):
            return kind
    return ELEMENTWISE


def optimizing() -> Any:
    """Context around the parameter update, which the profile shows separately."""
    return record_function(OPTIMIZER)


Shape = tuple[int, ...]
LAUNCHES = 20  # of a product that is timed on a GPU
Sizes = tuple[Shape, Shape]


class _Products(TorchDispatchMode):
    """Context that collects the sizes of all matrix products."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: Counter[tuple[Sizes, torch.dtype]] = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = func.name().split(".")[0].split("::")[1]
        if name == OPERATION:
            rows, (wide, deep) = args[0].numel() // args[0].size(-1), args[1].shape
            self.sizes[((rows, deep), (deep, wide)), args[0].dtype] += 1
        elif name in KINDS["products"]:
            left, right = args[-2:] if name.startswith(("add", "badd")) else args[:2]
            self.sizes[(tuple(left.shape), tuple(right.shape)), left.dtype] += 1
        return func(*args, **(kwargs or {}))


@dataclass(frozen=True)
class Floor:
    """Holds the seconds of a step's matrix products alone.

    Attributes:
        products: by ``torch.mm`` and ``torch.bmm``
        onednn: those of two float32 matrices by oneDNN's linear layer instead; None on a GPU, and
            where PyTorch has no oneDNN
    """

    products: float
    onednn: float | None


def floor(step: Callable[[Any], None], sample: Any, device: str) -> Floor:
    """Returns a lower bound for any implementation of a step's products.

    Each size is multiplied alone, in a loop, the fastest of several times. Products inside fused
    attention are not among them.
    """
    with _Products() as products:
        step(sample)
    with_onednn = device == "cpu" and torch.backends.mkldnn.is_available()
    total = onednn = 0.0
    for ((left_shape, right_shape), dtype), times in products.sizes.items():
        left = torch.randn(left_shape, device=device, dtype=dtype)
        right = torch.randn(right_shape, device=device, dtype=dtype)
        multiply = torch.mm if left.dim() == 2 else torch.bmm
        fastest = _fastest(partial(multiply, left, right), device)
        total += times * fastest
        if with_onednn:
            if left.dim() == 2 and dtype == torch.float32:
                fastest = _fastest(_linear(left, right), device)
            onednn += times * fastest
    return Floor(total, onednn if with_onednn else None)


def _linear(left: Tensor, right: Tensor) -> Callable[[], Any]:
    """Times the product as a linear layer of oneDNN, without conversion to oneDNN's formats."""
    linear = torch.nn.Linear(right.size(0), right.size(1), bias=False).eval()
    linear.weight.data = right.t().contiguous()
    return partial(to_mkldnn(linear), left.to_mkldnn())


def _fastest(multiply: Callable[[], Any], device: str) -> float:
    return min(_seconds(multiply, device) for _ in range(REPEATS + 1))


@torch.no_grad()
def _seconds(multiply: Callable[[], Any], device: str) -> float:
    if device == "cuda":  # the host's clock would measure launching and waiting
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(LAUNCHES):
            multiply()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1000 / LAUNCHES
    begin = time.perf_counter()
    multiply()
    return time.perf_counter() - begin
