"""Attention weights, gates and routing coefficients on request, and at no cost otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

Records = dict[str, dict[str, Tensor]]


class Recordable(nn.Module):
    """A module that can tell what it computed inside.

    Inside ``with recording(model) as records:`` a module's :meth:`record` stores detached tensors.
    What is computed for that alone, a module computes only where it :meth:`wants` to.
    """

    _records: dict[str, Tensor] | None = None
    _names: Collection[str] | None = None  # None: all

    def wants(self, name: str) -> bool:
        """Whether a tensor of this name is being recorded."""
        return self._records is not None and (self._names is None or name in self._names)

    def record(self, **tensors: Tensor) -> None:
        """Store the wanted ones of these tensors (the last forward pass wins)."""
        if self._records is not None:
            self._records.update(
                {name: tensor.detach() for name, tensor in tensors.items() if self.wants(name)}
            )


@contextmanager
def recording(model: nn.Module, names: Collection[str] | None = None) -> Iterator[Records]:
    """Collect what every :class:`Recordable` inside `model` records.

    Inside another recording of the same modules both get what they asked for.

    Args:
        model: the modules that record
        names: of the tensors to record; None for all

    Yields:
        {module name: {tensor name: tensor}}, filled by the forward passes run inside
    """
    modules = {name: m for name, m in model.named_modules() if isinstance(m, Recordable)}
    records: Records = {}
    outer = {module: (module._records, module._names) for module in modules.values()}
    try:
        for name, module in modules.items():
            if module._records is not None:  # inside another recording
                module._names = _both(names, module._names)
            else:
                module._names = names
            module._records = records.setdefault(name, {})
        yield records
    finally:
        for module, (wanted_outside, names_outside) in outer.items():
            recorded = module._records or {}
            module._records, module._names = wanted_outside, names_outside
            module.record(**recorded)


def _both(one: Collection[str] | None, other: Collection[str] | None) -> Collection[str] | None:
    """All names of both; None is all there are."""
    return None if one is None or other is None else {*one, *other}
