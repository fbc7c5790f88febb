"""Attention weights, gates and routing coefficients on request, and at no cost otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

Records = dict[str, dict[str, Tensor]]


class Recordable(nn.Module):
    """A module that can tell what it computed inside.

    Inside ``with recording(model) as records:`` a module's :meth:`record` stores detached tensors;
    outside, :attr:`is_recording` is false and nothing is computed for it.
    """

    _records: dict[str, Tensor] | None = None

    @property
    def is_recording(self) -> bool:
        return self._records is not None

    def record(self, **tensors: Tensor) -> None:
        """Store tensors under their names (the last forward pass wins); no-op unless recording."""
        if self._records is not None:
            self._records.update({name: tensor.detach() for name, tensor in tensors.items()})


@contextmanager
def recording(model: nn.Module) -> Iterator[Records]:
    """Collect what every :class:`Recordable` inside `model` records.

    Yields:
        {module name: {tensor name: tensor}}, filled by the forward passes run inside
    """
    modules = {name: m for name, m in model.named_modules() if isinstance(m, Recordable)}
    records: Records = {}
    try:
        for name, module in modules.items():
            module._records = records.setdefault(name, {})
        yield records
    finally:
        for module in modules.values():
            module._records = None
