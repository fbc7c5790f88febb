"""Records attention weights, gates and routing coefficients on request, at no cost otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

Records = dict[str, dict[str, Tensor]]


class Recordable(nn.Module):
    """Base of modules that can record what they compute.

    Inside ``with recording(model) as records:`` a module's :meth:`record` stores detached tensors.
    Tensors that only the recording needs are computed only when :meth:`wants` is true.
    """

    _records: dict[str, Tensor] | None = None
    _names: Collection[str] | None = None  # None: all

    def wants(self, name: str) -> bool:
        """Returns True when a tensor of this name is being recorded."""
        return self._records is not None and (self._names is None or name in self._names)

    def record(self, **tensors: Tensor) -> None:
        """Stores those of the tensors that are wanted; the last forward pass wins."""
        if self._records is not None:
            self._records.update(
                {name: tensor.detach() for name, tensor in tensors.items() if self.wants(name)}
            )


@contextmanager
def recording(model: nn.Module, names: Collection[str] | None = None) -> Iterator[Records]:
    """Collects what every :class:`Recordable` inside `model` records.

    Recordings of the same modules can be nested; each gets the tensors that it asked for.

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
    """Returns the names of both; None means all names."""
    return None if one is None or other is None else {*one, *other}
