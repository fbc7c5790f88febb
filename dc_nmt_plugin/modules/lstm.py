"""The LSTM of the language model (Miculicich Werlen et al. 2018, section 7.3)."""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import Tensor, nn

from .core.initial_weights import init_recurrent
from .core.session import Session, Stateful


class LanguageLSTM(Stateful):
    """One LSTM layer that starts from the zero state.

    Args:
        embed_dim: width e of the words
        state_dim: width d of the states
    """

    def __init__(self, *, embed_dim: int, state_dim: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(embed_dim, state_dim, batch_first=True)
        init_recurrent(self.lstm)

    def forward(self, words: Tensor, *, session: Session | None = None) -> Tensor:
        """
        Args:
            words: (B, T, e); when decoding the last one, T = 1
            session: the decoding session, or None

        Returns:
            (B, T, d)
        """
        slot = {} if session is None else self.slot(session)
        past = None
        if slot:  # kept with the rows first: (R, 1, d)
            past = (slot["hidden"].transpose(0, 1), slot["cell"].transpose(0, 1))
        # torch's LSTM knows no bfloat16 on most CPUs: mixed precision leaves it out there
        on_cpu = words.device.type == "cpu"
        with torch.autocast("cpu", enabled=False) if on_cpu else nullcontext():
            states: Tensor
            states, (hidden, cell) = self.lstm(words, past)
        slot["hidden"], slot["cell"] = hidden.transpose(0, 1), cell.transpose(0, 1)
        return states
