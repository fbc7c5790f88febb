"""The layers of one decoder, main or auxiliary."""

from __future__ import annotations

from torch import Tensor

from ...modules.core.history import LayerHistory
from ...modules.core.masks import SequenceMask
from ...modules.core.source import Source
from ...modules.core.state import State, Stateful
from .stack import LayerStack


class DecoderStack(LayerStack, Stateful):
    """A decoder without embeddings and output projection: those are shared between decoders."""

    def states(
        self,
        x: Tensor,
        mask: SequenceMask,
        source: Source,
        *,
        state: State | None = None,
        auxiliary: list[Tensor] | None = None,
    ) -> list[Tensor]:
        """
        Args:
            x: (R, T, C) embedded target prefix; its last position alone when decoding
            mask: padding and causality of the prefix
            source: what the layers attend to
            state: the decoding session, or None
            auxiliary: final states (R, T, C) of the auxiliary decoders to fuse

        Returns:
            the outputs (R, T, C) of all layers, the last one final
        """
        history = LayerHistory(mask, past=None if state is None else self.slot(state))
        outputs = list(
            self.outputs(
                x,
                history,
                lambda layer, h: layer(h, mask, source, history, state, auxiliary),
            )
        )
        outputs[-1] = self.top(outputs[-1])
        return outputs
