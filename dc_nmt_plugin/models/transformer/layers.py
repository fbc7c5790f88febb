"""Token embeddings, encoder and decoder layers, and the stacks that run layers in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from fairseq import utils
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ...modules.core.dropout import add_dropped, dropout
from ...modules.core.flow import Flow
from ...modules.core.recording import give_places
from ...modules.core.session import Stateful
from ...modules.feed_forward import GATED, gated_width


class TokenEmbedding(nn.Module):
    """Norm(scale · E[token] + P[position]); the norm only on request. :meth:`drop` is its dropout.

    Args:
        tokens: the embedding matrix, possibly shared
        positions: fairseq's positional embedding, or None
        scale: sqrt(width) (Vaswani et al. 2017, 3.4) or 1
        layer_norm: norm of the sum, or None
    """

    def __init__(
        self,
        *,
        tokens: nn.Embedding,
        positions: nn.Module | None,
        scale: float,
        layer_norm: nn.Module | None,
        dropout: float,
    ) -> None:
        super().__init__()
        self.tokens = tokens
        self.positions = positions
        self.scale = scale
        self.layer_norm = layer_norm
        self.dropout = dropout

    def forward(self, tokens: Tensor, *, incremental_state: Any = None) -> Tensor:
        """
        Args:
            tokens: (B, T) token ids
            incremental_state: when decoding, only the last token is embedded

        Returns:
            (B, T, C), or (B, 1, C) when decoding
        """
        x = self.scale * self.tokens(tokens if incremental_state is None else tokens[:, -1:])
        if self.positions is not None:
            x = x + self.positions(tokens, incremental_state=incremental_state)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        return x

    def drop(self, x: Tensor) -> Tensor:
        """Applies dropout, each stack its own."""
        return dropout(x, self.dropout, self.training)


@dataclass(frozen=True)
class LayerSettings:
    """Describes the layers of a stack beside their attentions (axis D, the base block)."""

    embed_dim: int  # model width C
    ffn_dim: int  # inner width of the feed-forward network; a gated one has two thirds of it
    dropout: float  # of every sublayer's output
    activation_dropout: float  # after the activation
    activation_fn: str
    pre_norm: bool  # norm before the sublayer instead of after the residual connection
    norm: Callable[[int], nn.Module]  # builds a norm of this width


class TransformerLayer(nn.Module):
    """Base of encoder and decoder layers: residual connections and the feed-forward network."""

    def __init__(self, settings: LayerSettings) -> None:
        super().__init__()
        self.dropout = settings.dropout
        self.activation_dropout = settings.activation_dropout
        self.pre_norm = settings.pre_norm
        width, inner = settings.embed_dim, settings.ffn_dim
        self.activation: Callable[[Tensor], Tensor]
        if settings.activation_fn in GATED:
            inner = gated_width(inner)
            self.activation = GATED[settings.activation_fn]
            self.fc1 = nn.Linear(width, 2 * inner, bias=False)  # [W; V]
            self.fc2 = nn.Linear(inner, width, bias=False)
        else:
            self.activation = utils.get_activation_fn(settings.activation_fn)
            self.fc1 = nn.Linear(width, inner)
            self.fc2 = nn.Linear(inner, width)
        self.final_layer_norm = settings.norm(width)

    def residual(self, x: Tensor, norm: nn.Module, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Returns Norm(x + Dropout(sublayer(x))), or x + Dropout(sublayer(Norm(x)))."""
        if self.pre_norm:
            return add_dropped(x, sublayer(norm(x)), self.dropout, self.training)
        return norm(add_dropped(x, sublayer(x), self.dropout, self.training))

    def feed_forward(self, x: Tensor) -> Tensor:
        """Maps (…, C) → (…, C)."""
        hidden = self.activation(self.fc1(x))
        return self.fc2(dropout(hidden, self.activation_dropout, self.training))


class EncoderLayer(TransformerLayer):
    """Self-attention and feed-forward network.

    Args:
        self_attn: any self-attention kind (axis A), see ``modules.core.self_attention``
        settings: the rest of the layer
    """

    def __init__(self, self_attn: nn.Module, settings: LayerSettings) -> None:
        super().__init__(settings)
        self.self_attn = self_attn
        self.self_attn_layer_norm = settings.norm(settings.embed_dim)

    def forward(self, x: Tensor, flow: Flow) -> Tensor:
        """Maps (B, T, C) → (B, T, C); ``flow.inputs`` ends with x."""
        x = self.residual(x, self.self_attn_layer_norm, lambda r: self.self_attn(r, flow))
        return self.residual(x, self.final_layer_norm, self.feed_forward)


class DecoderLayer(TransformerLayer):
    """Masked self-attention, encoder-decoder attention and feed-forward network.

    Args:
        self_attn: any causal self-attention kind (axis A)
        encoder_attn: attention to the source (axis B)
        settings: the rest of the layer
        fusion: of auxiliary decoders' states after the self-attention sublayer (axis C, thesis
            ch. 4, AIF), or None
    """

    def __init__(
        self,
        self_attn: nn.Module,
        encoder_attn: nn.Module,
        settings: LayerSettings,
        fusion: nn.Module | None = None,
    ) -> None:
        super().__init__(settings)
        self.self_attn = self_attn
        self.self_attn_layer_norm = settings.norm(settings.embed_dim)
        self.encoder_attn = encoder_attn
        self.encoder_attn_layer_norm = settings.norm(settings.embed_dim)
        self.fusion = fusion

    def forward(self, x: Tensor, flow: Flow) -> Tensor:
        """Maps (R, T, C) → (R, T, C), T = 1 when decoding; ``flow.inputs`` ends with x."""
        x = self.residual(x, self.self_attn_layer_norm, lambda r: self.self_attn(r, flow))
        if self.fusion is not None and flow.auxiliary_features is not None:
            x = self.fusion(x, flow.auxiliary_features)
        x = self.residual(x, self.encoder_attn_layer_norm, lambda r: self.encoder_attn(r, flow))
        return self.residual(x, self.final_layer_norm, self.feed_forward)


class LayerStack(Stateful):
    """Layers run one after the other; in decoding, it keeps the running means that they share.

    Args:
        layers: encoder or decoder layers
        name: ``encoder``, ``decoder``, or ``aux1`` for the auxiliary decoder on encoder layer 1
        layer_norm: applied to the top layer's output (pre-norm), or None
        layerdrop: probability of skipping a layer in training (Fan et al. 2020)
        checkpoint_activations: recompute each layer in the backward pass
    """

    def __init__(
        self,
        layers: Sequence[nn.Module],
        *,
        name: str,
        layer_norm: nn.Module | None,
        layerdrop: float,
        checkpoint_activations: bool,
    ) -> None:
        super().__init__()
        give_places(layers, name)
        self.layers = nn.ModuleList(layers)
        self.layer_norm = layer_norm
        self.layerdrop = layerdrop
        self.checkpoint_activations = checkpoint_activations

    def forward(self, x: Tensor, flow: Flow) -> list[Tensor]:
        """Returns the output (B, T, C) of every layer, lowest first; the last one is final.

        Args:
            x: (B, T, C) embeddings
            flow: what the layers get beside their input
        """
        recompute = self.checkpoint_activations and self.training and torch.is_grad_enabled()
        outputs = []
        for layer in self.layers:
            flow.inputs.append(x)
            # a skipped layer hands its input on, so every layer still has an output
            skipped = (
                self.training and self.layerdrop > 0 and float(torch.rand(())) < self.layerdrop
            )
            if not skipped:
                x = checkpoint(layer, x, flow, use_reentrant=False) if recompute else layer(x, flow)
            outputs.append(x)
        if self.layer_norm is not None:
            outputs[-1] = self.layer_norm(x)
        return outputs
