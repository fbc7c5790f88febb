"""Names of all attentions that a model records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torch import Tensor

from ..modules.core.recording import Records

_PARTS = {"weights": "", "global_weights": "global", "local_weights": "local"}

ATTENTIONS = (*_PARTS, "previous_words")
"""Names of the recorded tensors that are attention weights."""


class Site(NamedTuple):
    """Position of an attention in the model.

    Attributes:
        side: ``encoder``, ``decoder``, or ``aux1`` for the auxiliary decoder on encoder layer 1
        layer: from 1; 0 for the one attention of a recurrent decoder
        reads: ``self``, ``source``, or ``words`` (of a recurrent decoder: earlier target words)
        part: ``global`` or ``local`` of dual contexts, ``f3`` for source layer 3, or nothing
    """

    side: str
    layer: int
    reads: str
    part: str = ""

    @property
    def name(self) -> str:
        """Returns a name such as ``encoder.3.self.global``, for patterns of the command line."""
        layer = str(self.layer) if self.layer else ""
        return ".".join(filter(None, (self.side, layer, self.reads, self.part)))


def attentions(records: Records, source_layers: Sequence[int]) -> Iterator[tuple[Site, Tensor]]:
    """Yields every attention and its weights (B, H, T, S), with the rows of padding.

    Args:
        records: of one forward pass
        source_layers: numbers of the encoder layers that the main decoder reads
    """
    for tensors in records.values():
        if "previous_words" in tensors:
            yield Site("decoder", 0, "words"), tensors["previous_words"][:, None]
        for key, part in _PARTS.items():
            if key not in tensors:
                continue
            weights = tensors[key]
            if tensors.place is None:  # of a recurrent decoder
                yield Site("decoder", 0, "source", part), weights
            elif weights.dim() == 4:
                yield Site(*tensors.place, part), weights
            else:  # one softmax for each source layer: (B, n, H, T, M)
                for number, own in zip(source_layers, weights.unbind(dim=1), strict=True):
                    yield Site(*tensors.place, f"f{number}"), own
