"""Records attention weights, gates and routing coefficients on request, at no cost otherwise."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from torch import Tensor, nn


class Place(NamedTuple):
    """Position of an attention in a Transformer.

    Attributes:
        side: ``encoder``, ``decoder``, or ``aux1`` for the auxiliary decoder on encoder layer 1
        layer: from 1
        reads: ``self`` or ``source``
    """

    side: str
    layer: int
    reads: str

    @property
    def auxiliary(self) -> bool:
        """Returns whether it is in an auxiliary decoder."""
        return self.side not in ("encoder", "decoder")


class Recorded(dict[str, Tensor]):
    """Tensors that one module recorded, by name.

    Attributes:
        place: of the module; None outside a Transformer's layers
    """

    def __init__(self, place: Place | None = None, **tensors: Tensor) -> None:
        super().__init__(tensors)
        self.place = place


Records = dict[str, Recorded]
"""Name of a module → what it recorded."""


class Recordable(nn.Module):
    """Base of modules that can record what they compute.

    Inside ``with recording(model) as records:`` a module's :meth:`record` stores detached tensors.
    Tensors that only the recording needs are computed only when :meth:`wants` is true.
    """

    place: Place | None = None  # given by the builder
    _records: Recorded | None = None
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


def give_places(layers: Iterable[nn.Module], side: str) -> None:
    """Gives the attentions of a stack's layers, lowest first, their places."""
    for number, layer in enumerate(layers, start=1):
        for name, reads in (("self_attn", "self"), ("encoder_attn", "source")):
            attention = getattr(layer, name, None)
            if isinstance(attention, Recordable):
                attention.place = Place(side, number, reads)


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
            module._records = records.setdefault(name, Recorded(module.place))
        yield records
    finally:
        for module, (wanted_outside, names_outside) in outer.items():
            recorded = module._records or Recorded()
            module._records, module._names = wanted_outside, names_outside
            module.record(**recorded)


@contextmanager
def reducing(
    model: nn.Module, names: Collection[str], take: Callable[[Recorded], None]
) -> Iterator[None]:
    """Gives `take` what each module of the main stacks recorded, when its forward pass ends.

    What is recorded later for a module, such as by a loop over steps, is given at the end.
    Nothing is kept, so that no more than one module's attention weights exist at a time. Auxiliary
    decoders record nothing.

    Args:
        model: the modules that record
        names: of the tensors to record
        take: reduces the tensors of one module
    """
    modules = [
        module
        for module in model.modules()
        if isinstance(module, Recordable) and not (module.place and module.place.auxiliary)
    ]
    found = {module: Recorded(module.place) for module in modules}

    def finish(module: nn.Module, *call: object) -> None:
        recorded = found[module]  # type: ignore[index]
        if recorded:
            take(recorded)
            recorded.clear()

    handles = [module.register_forward_hook(finish) for module in modules]
    outer = [(module, module._records, module._names) for module in modules]
    try:
        for module in modules:
            module._records, module._names = found[module], names
        yield
        for module in modules:
            finish(module)
    finally:
        for module, records, names_outside in outer:
            module._records, module._names = records, names_outside
        for handle in handles:
            handle.remove()


def _both(one: Collection[str] | None, other: Collection[str] | None) -> Collection[str] | None:
    """Returns the names of both; None means all names."""
    return None if one is None or other is None else {*one, *other}
