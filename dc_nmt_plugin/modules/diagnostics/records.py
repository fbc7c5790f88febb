"""Input and output of a diagnostic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from torch import Tensor

from ..core.recording import Recorded, Records

Totals = dict[tuple[str | int, ...], tuple[Any, Any]]
"""parts of a name → (sum, count), to be added up over batches and workers and divided once."""

Key = TypeVar("Key")


@dataclass(frozen=True)
class Batch:
    """Describes a batch for a diagnostic, in addition to the records.

    Attributes:
        source: (B, M) tokens that the encoder reads; a language model's own words
        prefix: (B, T) tokens that the decoder reads; None for a language model
        target: (B, T) tokens to predict
        padding_idx: the padding's number
    """

    source: Tensor
    prefix: Tensor | None
    target: Tensor
    padding_idx: int

    def padding(self, side: str) -> Tensor:
        """Returns the padding (B, T) of the ``encoder`` or a decoder: bool, True at padding."""
        tokens = self.source if side == "encoder" or self.prefix is None else self.prefix
        return tokens.eq(self.padding_idx)

    @property
    def target_lengths(self) -> Tensor:
        """Returns the number of predictions (B) of each sentence, including the end of sentence."""
        return self.target.ne(self.padding_idx).sum(dim=1)


class Diagnostic(NamedTuple):
    """Reduces recorded tensors to the numbers of one mechanism's paper.

    Attributes:
        needs: names of the recorded tensors that it reduces
        totals: function of the records of one batch; returns nothing if no module recorded them
    """

    needs: tuple[str, ...]
    totals: Callable[[Records, Batch], Totals]


def self_attentions(records: Records) -> Iterator[tuple[str, int, Recorded]]:
    """Yields side, layer (1-based) and tensors of every self-attention of the main stacks."""
    for tensors in records.values():
        place = tensors.place
        if tensors and place and place.reads == "self" and not place.auxiliary:
            yield place.side, place.layer, tensors


def token_total(values: Tensor, padding: Tensor | None) -> tuple[float, int]:
    """Returns sum and number of the values at real tokens.

    Args:
        values: (B, T), one number per token
        padding: (B, T) bool, True at padding, or None
    """
    values = values.double()
    if padding is None:
        return float(values.sum()), values.numel()
    return float(values.masked_fill(padding, 0.0).sum()), int((~padding).sum())


def pool(totals: dict[Key, tuple[Any, Any]], key: Key, total: Any, count: Any) -> None:
    """Adds a sum and a count to the entry `key` of `totals`."""
    so_far = totals.get(key, (0, 0))
    totals[key] = (so_far[0] + total, so_far[1] + count)
