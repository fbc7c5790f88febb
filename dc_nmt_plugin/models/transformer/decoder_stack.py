"""The layers of one decoder, main or auxiliary."""

from __future__ import annotations

from torch import Tensor

from ...modules.core.beams import Beams
from ...modules.core.flow import Flow
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
        tokens: Tensor | None = None,
        state: State | None = None,
        beams: Beams | None = None,
        auxiliary: list[Tensor] | None = None,
    ) -> list[Tensor]:
        """
        Args:
            x: (R, T, C) embedded target prefix; its last position alone when decoding
            mask: padding and causality of the prefix
            source: what the layers attend to
            tokens: (R, t) the whole prefix
            state: the decoding session, or None
            beams: its step, when it is one of beam search
            auxiliary: final states (R, T, C) of the auxiliary decoders to fuse

        Returns:
            the outputs (R, T, C) of all layers, the last one final
        """
        past = None if state is None else self.slot(state)
        flow = Flow(
            mask,
            tokens=tokens,
            state=state,
            beams=beams,
            past=past,
            source=source,
            auxiliary=auxiliary,
        )
        outputs = self.outputs(x, flow)
        outputs[-1] = self.top(outputs[-1])
        return outputs
