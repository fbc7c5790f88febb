"""Running a stack of layers, the same loop for encoder, decoder and auxiliary decoders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ...modules.core.history import LayerHistory


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

    def outputs(
        self, x: Tensor, history: LayerHistory, run: Callable[[nn.Module, Tensor], Tensor]
    ) -> Iterator[Tensor]:
        """The output (B, T, C) of every layer, lowest first, not yet normalised at the top.

        Args:
            x: (B, T, C) embeddings
            history: receives the input of every layer
            run: calls a layer on its input
        """
        for layer in self.layers:
            history.append(x)
            if not self._dropped():
                x = self._run(layer, x, run)
            yield x

    def top(self, x: Tensor) -> Tensor:
        """The stack's final output from its top layer's."""
        return x if self.layer_norm is None else self.layer_norm(x)

    def _dropped(self) -> bool:
        # a skipped layer hands its input on, so every layer still has an output
        return self.training and self.layerdrop > 0 and float(torch.rand(())) < self.layerdrop

    def _run(self, layer: nn.Module, x: Tensor, run: Callable[..., Any]) -> Tensor:
        if self.checkpoint_activations and self.training and torch.is_grad_enabled():
            output: Tensor = checkpoint(run, layer, x, use_reentrant=False)
            return output
        result: Tensor = run(layer, x)
        return result
