"""Cached tensors of incremental decoding."""

from __future__ import annotations

import torch
from torch import Tensor, nn

Session = dict[str, dict[str, Tensor]]
"""fairseq's ``incremental_state``: for every module its cached tensors, one row a hypothesis."""


class Stateful(nn.Module):
    """Base of modules that keep tensors between decoding steps.

    The session belongs to the caller; a module only owns one slot in it. The slot's name contains
    the object's identity, so copies of a module, the members of an ensemble and auxiliary decoders
    never share a slot.
    """

    def slot(self, session: Session) -> dict[str, Tensor]:
        """Returns the tensors of this module in `session`, hypotheses first: (R, ...)."""
        return session.setdefault(f"{type(self).__name__}.{id(self)}", {})

    def reorder_incremental_state(self, incremental_state: Session, new_order: Tensor) -> None:
        """Replaces row i by row ``new_order[i]``; called by fairseq's beam search.

        Args:
            incremental_state: the decoding session
            new_order: (R',) indices of rows; repeats and omissions are allowed
        """
        slot = self.slot(incremental_state)
        for name, tensor in slot.items():
            slot[name] = tensor.index_select(0, new_order)


def append_step(slot: dict[str, Tensor], **new: Tensor) -> list[Tensor]:
    """Appends one step to cached tensors along time, (R, t, C) + (R, 1, C), and returns them."""
    for name, tensor in new.items():
        slot[name] = torch.cat([slot[name], tensor], dim=1) if name in slot else tensor
    return [slot[name] for name in new]
