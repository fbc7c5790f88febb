"""Runs a stack of layers, for encoder, decoder and auxiliary decoders."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ...modules.core.flow import Flow


class LayerStack(nn.Module):
    """Layers run one after the other.

    Args:
        layers: encoder or decoder layers
        layer_norm: applied to the top layer's output (pre-norm), or None
        layerdrop: probability of skipping a layer in training (Fan et al. 2020)
        checkpoint_activations: recompute each layer in the backward pass
    """

    def __init__(
        self,
        layers: Sequence[nn.Module],
        *,
        layer_norm: nn.Module | None,
        layerdrop: float,
        checkpoint_activations: bool,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.layer_norm = layer_norm
        self.layerdrop = layerdrop
        self.checkpoint_activations = checkpoint_activations

    def outputs(self, x: Tensor, flow: Flow) -> list[Tensor]:
        """Returns the output (B, T, C) of every layer, lowest first, before the top norm.

        Args:
            x: (B, T, C) embeddings
            flow: what the layers get beside their input
        """
        found = []
        for layer in self.layers:
            flow.inputs.append(x)
            if not self._dropped():
                x = self._run(layer, x, flow)
            found.append(x)
        return found

    def top(self, x: Tensor) -> Tensor:
        """Returns the final output of the stack from that of its top layer."""
        return x if self.layer_norm is None else self.layer_norm(x)

    def _dropped(self) -> bool:
        # a skipped layer hands its input on, so every layer still has an output
        return self.training and self.layerdrop > 0 and float(torch.rand(())) < self.layerdrop

    def _run(self, layer: nn.Module, x: Tensor, flow: Flow) -> Tensor:
        if self.checkpoint_activations and self.training and torch.is_grad_enabled():
            output: Tensor = checkpoint(layer, x, flow, use_reentrant=False)
            return output
        result: Tensor = layer(x, flow)
        return result
