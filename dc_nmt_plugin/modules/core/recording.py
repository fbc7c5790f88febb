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
        names: of the tensors to record; None for all
    """

    def __init__(
        self, place: Place | None = None, names: Collection[str] | None = None, **tensors: Tensor
    ) -> None:
        super().__init__(tensors)
        self.place = place
        self.names = names

    def wants(self, name: str) -> bool:
        """Returns True when a tensor of this name is to be recorded."""
        return self.names is None or name in self.names


Records = dict[str, Recorded]
"""Name of a module → what it recorded."""


class Recordable(nn.Module):
    """Base of modules that can record what they compute.

    Inside ``with recording(model) as records:`` a module's :meth:`record` stores detached tensors.
    Tensors that only the recording needs are computed only when :meth:`wants` is true.
    """

    place: Place | None = None  # given by the builder
    _recordings: tuple[Recorded, ...] = ()  # that run now; they can be nested

    def wants(self, name: str) -> bool:
        """Returns True when a tensor of this name is being recorded."""
        return any(recorded.wants(name) for recorded in self._recordings)

    def record(self, **tensors: Tensor) -> None:
        """Stores those of the tensors that are wanted; the last forward pass wins."""
        for recorded in self._recordings:
            for name, tensor in tensors.items():
                if recorded.wants(name):
                    recorded[name] = tensor.detach()


def give_places(layers: Iterable[nn.Module], side: str) -> None:
    """Gives the attentions of a stack's layers, lowest first, their places."""
    for number, layer in enumerate(layers, start=1):
        for name, reads in (("self_attn", "self"), ("encoder_attn", "source")):
            attention = getattr(layer, name, None)
            if isinstance(attention, Recordable):
                attention.place = Place(side, number, reads)


def _recordables(model: nn.Module, main_stacks: bool) -> Iterator[tuple[str, Recordable]]:
    """Yields modules that record, with names; on request without those of auxiliary decoders."""
    for name, module in model.named_modules():
        if isinstance(module, Recordable):
            auxiliary = module.place is not None and module.place.auxiliary
            if not (main_stacks and auxiliary):
                yield name, module


@contextmanager
def recording(
    model: nn.Module,
    names: Collection[str] | None = None,
    take: Callable[[Recorded], None] | None = None,
) -> Iterator[Records]:
    """Collects what every :class:`Recordable` inside `model` records.

    Recordings of the same modules can be nested; each gets the tensors that it asked for.

    Args:
        model: the modules that record
        names: of the tensors to record; None for all
        take: reduces the tensors of one module of the main stacks when its forward pass ends. They
            are not kept, so that no more than one module's attention weights exist at a time.
            Tensors that are recorded later, such as by a loop over steps, are reduced at the end.

    Yields:
        {module name: {tensor name: tensor}}, filled by the forward passes run inside
    """
    records: Records = {}
    by_module: dict[Recordable, Recorded] = {}
    for name, module in _recordables(model, main_stacks=take is not None):
        recorded = records[name] = by_module[module] = Recorded(module.place, names)
        module._recordings = (*module._recordings, recorded)

    def reduce(module: nn.Module, *call: object) -> None:
        recorded = by_module[module]  # type: ignore[index]
        if take and recorded:
            take(recorded)
            recorded.clear()

    handles = [module.register_forward_hook(reduce) for module in by_module] if take else []
    try:
        yield records
        for module in by_module:
            reduce(module)
    finally:
        for handle in handles:
            handle.remove()
        for module, recorded in by_module.items():
            module._recordings = tuple(r for r in module._recordings if r is not recorded)
