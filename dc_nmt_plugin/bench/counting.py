"""Operations and host synchronisations: what a GPU waits for where the tensors are small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

SYNCHRONISING = {
    "aten::_local_scalar_dense",  # .item(), bool(tensor), .tolist() of one element
    "aten::equal",
    "aten::is_nonzero",
    "aten::masked_select",
    "aten::nonzero",
    "aten::_unique2",
}
"""Operations whose result, or its size, the host waits for."""

_VIEWS = {"aten::_unsafe_view"}  # not marked as a view, but copies nothing either
_BY_MASK = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}


class OperationCounter(TorchDispatchMode):
    """Inside, counts the ATen operations that do something: views only say where data lies.

    Attributes:
        operations: name → how often
        synchronisations: the same of those that a host waits for
    """

    def __init__(self) -> None:
        super().__init__()
        self.operations: Counter[str] = Counter()
        self.synchronisations: Counter[str] = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = func.name().split(".")[0]
        if not (func.is_view or name in _VIEWS) and _handles_tensors(func):
            self.operations[name] += 1
        if name in SYNCHRONISING or (name in _BY_MASK and _has_mask(args[1])):
            self.synchronisations[name] += 1
        return func(*args, **(kwargs or {}))


def _handles_tensors(func: Any) -> bool:
    """Whether tensors go in or come out, unlike ``aten::promote_types``, which compares types."""
    schema = func._schema
    return any("Tensor" in str(part.type) for part in (*schema.arguments, *schema.returns))


def _has_mask(indices: Any) -> bool:
    """Whether some index is boolean, which is looked through for its true elements first."""
    return any(index is not None and index.dtype == torch.bool for index in indices)


def count(step: Callable[[Any], None], sample: Any) -> OperationCounter:
    """Count one call of `step` on a batch; one before it has filled what is kept between calls."""
    step(sample)
    with OperationCounter() as counter:
        step(sample)
    return counter
