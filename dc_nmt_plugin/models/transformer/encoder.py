"""The encoder: embeddings, layers of any self-attention kind, and outputs for the decoders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.models import FairseqEncoder
from torch import Tensor, nn

from ...modules.core.flow import Flow
from ...modules.core.masks import SequenceMask
from ...modules.core.source import Source
from ...speed.graphs import shapes_are_fixed
from .layers import LayerStack, TokenEmbedding


class TransformerEncoder(FairseqEncoder):
    """
    Args:
        read_layers: the layers (1-based, lowest first) that the main decoder reads
        aggregation: turns their outputs into one, or None
        auxiliary_layers: the layers that auxiliary decoders are attached to
        tap_norms: number of a layer below the top → norm of its output, for the decoders that
            read ("tap") it; only in pre-norm, where the stack normalises the top layer alone

    Attributes:
        masked_layers: those of `read_layers` that the main decoder sees as zeros (thesis 3.5.4);
            set at decoding time
    """

    runs_in_fixed_shapes = True  # --cuda-graphs can record it

    def __init__(
        self,
        dictionary: Dictionary,
        embedding: TokenEmbedding,
        stack: LayerStack,
        *,
        max_source_positions: int,
        read_layers: Sequence[int],
        aggregation: nn.Module | None = None,
        auxiliary_layers: Sequence[int] = (),
        tap_norms: nn.ModuleDict | None = None,
    ) -> None:
        super().__init__(dictionary)
        self.embedding = embedding
        self.stack = stack
        self.padding_idx: int = dictionary.pad()
        self.max_source_positions = max_source_positions
        self.read_layers = list(read_layers)
        self.aggregation = aggregation
        self.auxiliary_layers = list(auxiliary_layers)
        self.tap_norms = tap_norms
        self.masked_layers: frozenset[int] = frozenset()

    @property
    def embed_tokens(self) -> nn.Embedding:
        return self.embedding.tokens

    @property
    def layers(self) -> nn.ModuleList:
        return self.stack.layers

    def forward(
        self, src_tokens: Tensor, src_lengths: Tensor | None = None, **unused: Any
    ) -> Source:
        """
        Args:
            src_tokens: (B, M) token ids, padded on either side
            src_lengths: (B) unused, part of fairseq's interface

        Returns:
            what the decoders attend to, one row a sentence
        """
        is_padding = src_tokens.eq(self.padding_idx)  # (B, M)
        padding = is_padding if shapes_are_fixed() or bool(is_padding.any()) else None
        mask = SequenceMask.build(padding)
        x = mask.zero_padding(self.embedding.drop(self.embedding(src_tokens)))  # (B, M, C)
        outputs = self.stack(x, Flow(mask, tokens=src_tokens))
        features = []
        for layer in self.read_layers:
            feature = self._for_decoders(outputs, layer)  # f^i
            # thesis 3.5.4: f^i := 0; projections with biases still give their constants
            features.append(torch.zeros_like(feature) if layer in self.masked_layers else feature)
        if self.aggregation is not None:
            features = [self.aggregation(features)]
        lower = {layer: self._for_decoders(outputs, layer) for layer in self.auxiliary_layers}
        return Source(features=features, padding=padding, auxiliary_sources=lower)

    def _for_decoders(self, outputs: Sequence[Tensor], layer: int) -> Tensor:
        """Returns the output (B, M, C) of a layer as decoders read it."""
        output = outputs[layer - 1]
        if self.tap_norms is not None and layer < len(outputs):
            output = self.tap_norms[str(layer)](output)
        return output

    def reorder_encoder_out(self, encoder_out: Source, new_order: Tensor) -> Source:
        """See :meth:`Source.reorder`."""
        return encoder_out.reorder(new_order)

    def max_positions(self) -> int:
        return self.max_source_positions
