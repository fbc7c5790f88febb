"""Encoder and decoder layers: sublayers with residual connections and layer norm."""

from __future__ import annotations

from collections.abc import Callable

from fairseq import utils
from fairseq.modules import LayerNorm
from torch import Tensor, nn

from ...modules.core.dropout import add_dropped, dropout
from ...modules.core.history import LayerHistory
from ...modules.core.masks import SequenceMask
from ...modules.core.source import Source
from ...modules.core.state import State


class Layer(nn.Module):
    """Base of both kinds of layers: residual connections and the feed-forward network.

    Args:
        embed_dim: model width C
        ffn_dim: inner width of the feed-forward network
        dropout: dropout of every sublayer's output
        activation_dropout: dropout after the activation
        activation_fn: name of the activation
        normalize_before: layer norm before the sublayer (pre-norm) instead of after the residual
    """

    def __init__(
        self,
        *,
        embed_dim: int,
        ffn_dim: int,
        dropout: float,
        activation_dropout: float,
        activation_fn: str,
        normalize_before: bool,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.activation_dropout = activation_dropout
        self.activation: Callable[[Tensor], Tensor] = utils.get_activation_fn(activation_fn)
        self.normalize_before = normalize_before
        self.fc1 = nn.Linear(embed_dim, ffn_dim)
        self.fc2 = nn.Linear(ffn_dim, embed_dim)
        self.final_layer_norm = LayerNorm(embed_dim)

    def residual(self, x: Tensor, norm: nn.Module, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Returns LayerNorm(x + Dropout(sublayer(x))), or x + Dropout(sublayer(LayerNorm(x)))."""
        if self.normalize_before:
            return add_dropped(x, sublayer(norm(x)), self.dropout, self.training)
        return norm(add_dropped(x, sublayer(x), self.dropout, self.training))

    def transform(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Applies the feed-forward sublayer to real positions; x (B, T, C) → (B, T, C)."""
        return mask.on_real(
            x, lambda real: self.residual(real, self.final_layer_norm, self.feed_forward)
        )

    def feed_forward(self, x: Tensor) -> Tensor:
        """Maps (…, C) → (…, C)."""
        hidden = self.activation(self.fc1(x))
        return self.fc2(dropout(hidden, self.activation_dropout, self.training))


class EncoderLayer(Layer):
    """Self-attention and feed-forward network.

    Args:
        self_attn: any self-attention kind (axis A), see ``modules.core.self_attention``
        options: of :class:`Layer`
    """

    def __init__(self, self_attn: nn.Module, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.self_attn = self_attn
        self.self_attn_layer_norm = LayerNorm(options["embed_dim"])

    def forward(self, x: Tensor, mask: SequenceMask, history: LayerHistory) -> Tensor:
        """Maps (B, T, C) → (B, T, C); `history` ends with x."""
        x = self.residual(
            x, self.self_attn_layer_norm, lambda r: self.self_attn(r, mask, history=history)
        )
        return self.transform(x, mask)


class DecoderLayer(Layer):
    """Masked self-attention, encoder-decoder attention and feed-forward network.

    Args:
        self_attn: any causal self-attention kind (axis A)
        encoder_attn: attention to the source (axis B)
        fusion: fusion of auxiliary decoders' states after the self-attention sublayer (axis C,
            thesis ch. 4, AIF), or None
        options: of :class:`Layer`
    """

    def __init__(
        self,
        self_attn: nn.Module,
        encoder_attn: nn.Module,
        fusion: nn.Module | None = None,
        **options: object,
    ) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.self_attn = self_attn
        self.self_attn_layer_norm = LayerNorm(options["embed_dim"])
        self.encoder_attn = encoder_attn
        self.encoder_attn_layer_norm = LayerNorm(options["embed_dim"])
        self.fusion = fusion

    def forward(
        self,
        x: Tensor,
        mask: SequenceMask,
        source: Source,
        history: LayerHistory,
        state: State | None = None,
        auxiliary: list[Tensor] | None = None,
    ) -> Tensor:
        """
        Args:
            x: (R, T, C), T = 1 when decoding
            mask: padding and causality of x
            source: what to attend to
            history: inputs of this and all lower layers
            state: the decoding session, or None
            auxiliary: final states (R, T, C) of the auxiliary decoders to fuse, or None

        Returns:
            (R, T, C)
        """
        x = self.residual(
            x,
            self.self_attn_layer_norm,
            lambda r: self.self_attn(r, mask, history=history, state=state),
        )
        if self.fusion is not None and auxiliary is not None:
            x = self.fusion(x, auxiliary)
        x = self.residual(
            x, self.encoder_attn_layer_norm, lambda r: self.encoder_attn(r, source, state=state)
        )
        return self.transform(x, mask)
