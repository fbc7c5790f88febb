"""Watches what a model does: its operations, the functions that run, tensors on another device."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import CodeType
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

META = torch.device("meta")


class Operations(TorchDispatchMode):
    """Collects torch's operations.

    Attributes:
        seen: name, numbers among the arguments, and shape of the result of each
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Any, ...]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        numbers = [part for part in args if isinstance(part, bool | int | float)]
        shape = tuple(result.shape) if isinstance(result, Tensor) else ()
        self.seen.append((func.name(), *numbers, shape))
        return result


class InFloat64(TorchDispatchMode):
    """Keeps float64 where a model goes to float32, such as for a softmax, which rounds there."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") is torch.float32 and args and args[0].dtype is torch.float64:
            kwargs["dtype"] = torch.float64
        return func(*args, **kwargs)


@contextmanager
def called_functions() -> Iterator[set[CodeType]]:
    """Yields a set that gets the code of every Python function which is called inside."""
    called: set[CodeType] = set()

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call":
            called.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(before)


class _HostAnswers(TorchDispatchMode):
    """Answers what the host asks of meta tensors, and collects what is made on the CPU."""

    def __init__(self, on_cpu: list[str]) -> None:
        super().__init__()
        self.on_cpu = on_cpu

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = func.name().split(".")[0].removeprefix("aten::"), kwargs or {}
        given = [part for part in (*args, *kwargs.values()) if isinstance(part, Tensor)]
        if any(part.device == META for part in given):
            answer = _host_answer(name, args[0])
            if answer is not None:
                return answer
        result = func(*args, **kwargs)
        made_here = all(part.device == META for part in given)
        on_cpu = isinstance(result, Tensor) and result.device.type == "cpu"
        if on_cpu and made_here and result.dim():  # a GPU takes a single number as it is
            self.on_cpu.append(name)
        return result


def _host_answer(name: str, tensor: Any) -> Tensor | int | None:
    """Returns what an operation tells the host of a meta tensor: True everywhere, or 1."""
    if name == "nonzero":
        return torch.empty(tensor.numel(), tensor.dim(), dtype=torch.long, device=META)
    if name == "_local_scalar_dense":
        return False if tensor.dtype == torch.bool else 1
    return None


@contextmanager
def on_another_device() -> Iterator[list[str]]:
    """Lets models of torch's ``meta`` device run, which has shapes and types, and no values.

    What the host reads of a tensor is answered here: all positions are real.

    Yields:
        a list that gets the names of operations that make a tensor on the CPU, which a GPU would
        wait for, or refuse
    """
    on_cpu: list[str] = []
    with ExitStack() as patches:
        for name, answer in (
            ("autocast", lambda *_, **__: nullcontext()),
            ("is_autocast_enabled", lambda *_: False),
        ):
            patches.enter_context(mock.patch.object(torch, name, answer))
        # fairseq's positions make a tensor of a shape, which the host knows
        patches.enter_context(
            mock.patch("torch.onnx.operators.shape_as_tensor", lambda tensor: tensor.shape)
        )
        patches.enter_context(_HostAnswers(on_cpu))
        yield on_cpu


def on_meta(batch: Any) -> Any:
    """Returns a batch with its tensors on the ``meta`` device."""
    if isinstance(batch, dict):
        return {key: on_meta(part) for key, part in batch.items()}
    return batch.to(META) if isinstance(batch, Tensor) else batch
