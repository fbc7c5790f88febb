"""Counts operations and host synchronisations, which limit a GPU when tensors are small."""

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

_VIEWS = {"aten::_unsafe_view"}  # copies nothing, though not marked as a view
_BY_MASK = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}


class OperationCounter(TorchDispatchMode):
    """Context that counts ATen operations, without views.

    Attributes:
        operations: name → how often
        synchronisations: the same for operations that the host waits for
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
    """Returns True if tensors go in or come out (not so for ``aten::promote_types``)."""
    schema = func._schema
    return any("Tensor" in str(part.type) for part in (*schema.arguments, *schema.returns))


def _has_mask(indices: Any) -> bool:
    """Returns True if some index is boolean, which needs a search for its true elements."""
    return any(index is not None and index.dtype == torch.bool for index in indices)


def count(step: Callable[[Any], None], sample: Any) -> OperationCounter:
    """Counts one call of `step` on a batch, after one call that fills the caches."""
    step(sample)
    with OperationCounter() as counter:
        step(sample)
    return counter
