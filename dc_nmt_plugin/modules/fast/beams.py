"""Past keys and values of beam search, which the hypotheses of a sentence share.

Beam search reorders hypotheses at every step, and copies of their keys and values would cost as
much as the past is long. Here a sentence keeps the keys of all its hypotheses in columns, and only
the mask of what a hypothesis may see is reordered. When the space is full, or when sentences end,
the columns that no hypothesis sees any more are left out. Hypotheses soon have most of their past
in common, so that not many more columns than positions remain.

Shapes: S sentences, R = S × b hypotheses, those of a sentence adjacent; N columns; H heads, K width
of a head. The first step has one row a sentence (b = 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

State = dict[str, dict[str, Tensor]]  # as in core/state.py
_SLOT = "beams"
_STEPS = 6  # that there is space for at first


class _Slot(dict[str, Tensor]):
    """Holds the columns of a decoding session: ``seen`` (R, N) and ``position`` (S, N).

    ``left`` (S') has the sentences that are left when others have ended since the last step.
    """

    capacity = 0  # columns that there is space for
    steps = 0  # so far

    def __init__(self) -> None:
        super().__init__()
        self.past: dict[object, Tensor] = {}


class Kept:
    """Describes new space for keys and values.

    Args:
        sentences: (S') numbers of those that are left
        columns: (S', N') numbers of the columns that are left
        space: columns of the space that there was
    """

    def __init__(self, sentences: Tensor, columns: Tensor, space: int) -> None:
        self.sentences, self.columns, self.space = sentences, columns, space
        self._rows: dict[int, Tensor] = {}

    def of(self, past: Tensor) -> Tensor:
        """Returns what is kept of past (S, H, space, K): (S', H, N', K)."""
        heads, width = past.size(1), past.size(3)
        if heads not in self._rows:  # layers and keys and values share it
            every = torch.arange(heads, device=past.device)
            block = self.sentences[:, None] * heads + every  # (S', H)
            self._rows[heads] = block[:, :, None] * self.space + self.columns[:, None]
        rows = self._rows[heads]  # (S', H, N')
        return past.view(-1, width).index_select(0, rows.view(-1)).view(*rows.shape, width)


@dataclass(frozen=True)
class Beams:
    """Holds one step of a session of beam search.

    Attributes:
        seen: (S, 1, b, N) 0 where a hypothesis may see a column, else -inf
        position: (S, N) the step, from 0, that a column belongs to
        steps: so far, with this one
        capacity: columns that there is space for
        kept: what to keep of the past in new space; None while the old space suffices
        past: name → keys or values (S, H, capacity, K) of the session, written in place
    """

    seen: Tensor
    position: Tensor
    steps: int
    capacity: int
    kept: Kept | None
    past: dict[object, Tensor]

    def queries(self, x: Tensor) -> Tensor:
        """Returns x (R, H, 1, …) with the hypotheses of a sentence adjacent, (S, H, b, …)."""
        sentences, _, beam, _ = self.seen.shape
        return x.reshape(sentences, beam, x.size(1), -1).transpose(1, 2)

    def rows(self, x: Tensor) -> Tensor:
        """Reverses :meth:`queries`."""
        sentences, heads, beam, width = x.shape
        return x.transpose(1, 2).reshape(sentences * beam, heads, 1, width)

    def keep(self, name: object, new: Tensor) -> Tensor:
        """Writes keys or values of the new position behind those of the past.

        Args:
            name: of what is kept
            new: (R, H, 1, K)

        Returns:
            (S, H, N, K), the columns in use
        """
        new = self.queries(new)  # (S, H, b, K)
        columns, beam = self.seen.size(-1), new.size(2)
        past = self.past.get(name)
        if past is None or self.kept is not None:
            larger = new.new_empty(*new.shape[:2], self.capacity, new.size(3))
            if past is not None and self.kept is not None:
                kept = self.kept.of(past)
                larger[:, :, : kept.size(2)] = kept
            self.past[name] = past = larger
        past[:, :, columns - beam : columns] = new
        return past[:, :, :columns]

    def by_position(self, weights: Tensor) -> Tensor:
        """Returns the weights of columns (S, H, b, N) by position, (R, H, 1, t).

        A hypothesis sees one column of each position; the weights of the others are zero.
        """
        sums = weights.new_zeros(*weights.shape[:-1], self.steps)
        position = self.position[:, None, None].expand_as(weights)
        return self.rows(sums.scatter_add(-1, position, weights))


def begin(state: State) -> None:
    """Makes `state`, a new decoding session, one of beam search."""
    state[_SLOT] = _Slot()


def advance(state: State, beam: int, rows: int, device: torch.device) -> Beams | None:
    """Adds the columns of a step; returns None in other sessions.

    Args:
        state: the decoding session
        beam: hypotheses b of a sentence; 1 at the first step
        rows: R
        device: of the keys
    """
    slot = state.get(_SLOT)
    if not isinstance(slot, _Slot):
        return None
    sentences, kept = rows // beam, None
    own = torch.full((beam, beam), -math.inf, device=device).fill_diagonal_(0.0)
    own = own.repeat(sentences, 1)  # (R, b)
    now = torch.full((sentences, beam), slot.steps, device=device)
    if not slot:
        slot.capacity = 1 + _STEPS * beam
        slot.update(seen=own, position=now)
    else:
        if "left" in slot or slot["seen"].size(1) + beam > slot.capacity:
            kept = _keep(slot, beam)
        slot["seen"] = torch.cat([slot["seen"], own], dim=1)
        slot["position"] = torch.cat([slot["position"], now], dim=1)
    slot.steps += 1
    seen = slot["seen"].view(sentences, 1, beam, -1)
    return Beams(seen, slot["position"], slot.steps, slot.capacity, kept, slot.past)


def _keep(slot: _Slot, beam: int) -> Kept:
    """Leaves columns out that nobody sees, and those of sentences that have ended."""
    seen = slot["seen"].view(-1, beam, slot["seen"].size(1))  # (S', b, N)
    position, space = slot["position"], slot.capacity
    sentences = slot.pop("left", None)
    if sentences is None:
        sentences = torch.arange(len(seen), device=seen.device)
    else:
        position = position.index_select(0, sentences)
    visible = seen.eq(0).any(dim=1)  # (S', N)
    most = int(visible.sum(dim=1).max())
    # visible ones first, in their order; sentences that see fewer keep some that nobody sees
    columns = visible.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :most]
    slot["seen"] = seen.gather(2, columns[:, None].expand(-1, beam, -1)).flatten(0, 1)
    slot["position"] = position.gather(1, columns)
    slot.capacity = 2 * (most + _STEPS * beam // 2)
    return Kept(sentences, columns, space)


def reorder(state: State, rows: Tensor, sentences: Tensor | None) -> None:
    """Replaces the hypotheses by `rows` (R') inside `sentences` (S'), or inside all if None."""
    slot = state[_SLOT]
    slot["seen"] = slot["seen"].index_select(0, rows)
    if sentences is not None:
        slot["left"] = sentences
