"""Context-aware self-attention: mixes queries and keys with summaries of their context.

B. Yang, J. Li, D. F. Wong, L. S. Chao, X. Wang, Z. Tu, "Context-Aware Self-Attention Networks",
AAAI 2019.

Shapes: B sequences, T positions, C model width, H heads; d_c the width of the context.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .core.attention import split_heads
from .core.flow import Flow
from .core.initial_weights import input_projection
from .core.self_attention import SelfAttention
from .core.slow_linear import SlowLinear
from .mechanisms import CONTEXT_AWARE


class ContextAwareSelfAttention(SelfAttention):
    """Multi-head self-attention whose queries and keys are mixed with context vectors.

        Q̂ = (1 - λ_Q) Q + λ_Q C U_Q,   K̂ likewise                                  (5)
        λ_Q = σ(Q V_Q^H + C U_Q V_Q^C)                                              (6)

    where:
        C: (B, T, d_c) the context, made of the inputs H^1 … H^l of this and the lower layers
        U_Q, U_K: (d_c, C); `context_proj` stacks those in use, no bias
        V^H, V^C: (C,) each; rows of `gate_input` and `gate_context`, no bias
        λ: one scalar a position, shared by all heads; without gates Q̂ = Q + C U_Q (footnote 1)

    Contexts (`H^1` are the embeddings):
        global: c^l, the mean of H^l over real positions, in causal stacks over those ≤ t  (8)
        deep-global: [c^1, …, c^l]                                                        (10)
        deep: [H^1, …, H^{l-1}]; layer 1 has none and is standard self-attention           (9)
        deep-global+deep: both, in this order

    With rotary positions, Q̂ and K̂ are rotated after the mixing, as Q and K are.

    In causal stacks a key is mixed with the context of its own position, so it never changes once
    computed and is cached after mixing.

    H^l is the input of layer l, in pre-norm before its layer norm, and so are the contexts
    (measured in docs/papers/context-aware.md).

    Args:
        embed_dim: model width C
        num_heads: heads H; must divide C
        layer: the layer's number l in its stack, 1-based
        context, on, gate: see :data:`~.mechanisms.CONTEXT_AWARE`; `on` is Table 3's
        dropout: dropout of the attention weights
        bias: whether the input and output projections have biases

    Raises:
        ValueError: unknown `context`, `on` or `gate`, or a layer below 1
    """

    def __init__(
        self,
        *,
        embed_dim: int,
        num_heads: int,
        layer: int,
        context: str = "deep-global+deep",
        on: str = "both",
        gate: str = "learnt",
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__(embed_dim=embed_dim, num_heads=num_heads, dropout=dropout, bias=bias)
        CONTEXT_AWARE.check(context=context, on=on, gate=gate)
        self.layer = layer
        self.context = context
        self.mixed = ("q", "k") if on == "both" else (on[0],)  # q of queries, k of keys
        self.global_levels, self.deep_levels = context_levels(context, layer)
        blocks, mixed = len(self.global_levels) + len(self.deep_levels), len(self.mixed)
        self.has_context = blocks > 0
        self.has_gate = self.has_context and gate == "learnt"
        if self.has_context:
            self.context_proj = SlowLinear(embed_dim, mixed * embed_dim, blocks=blocks, bias=False)
            input_projection(self.context_proj, blocks=mixed)
            self.context_proj.rescale()
        if self.has_gate:
            bound = math.sqrt(6 / (embed_dim + 1))  # Xavier, of a C × 1 matrix
            self.gate_input = nn.Parameter(torch.empty(mixed, embed_dim).uniform_(-bound, bound))
            self.gate_context = nn.Parameter(torch.empty(mixed, embed_dim).uniform_(-bound, bound))

    def project(self, x: Tensor, flow: Flow) -> list[Tensor]:
        """Returns Q̂, K̂ and V of x (B, T, C), each (B, H, T, K).

        Records ``lambda_q`` and ``lambda_k`` (B, T, 1) if they exist. The forward pass records
        ``weights``.

        Raises:
            ValueError: `flow` lacks the inputs of layers 1 … l, or the running means of the
                decoding session
        """
        if not self.has_context:
            return super().project(x, flow)
        parts = self.in_proj(x).unflatten(-1, (3, -1))  # (B, T, 3, C): Q, K and V
        # Q and K are neighbours: those that are mixed are one slice (B, T, N, C), N = 1 or 2
        first, number = "qk".index(self.mixed[0]), len(self.mixed)
        before, mixed, after = parts.split([first, number, 3 - first - number], dim=2)
        context = self._project_contexts(flow)  # C U, (B, T, N, C)
        if self.has_gate:
            gate = self._gate(mixed, context)  # λ, (B, T, N, 1)
            mixed = torch.lerp(mixed, context, gate)  # Eq. (5): (1 - λ) Q + λ C U
            self.record(**{f"lambda_{name}": gate[:, :, i] for i, name in enumerate(self.mixed)})
        else:
            mixed = mixed + context  # footnote 1
        projections = (*before.unbind(2), *mixed.unbind(2), *after.unbind(2))  # Q̂, K̂, V
        return [split_heads(part, self.num_heads) for part in projections]

    def _check(self, flow: Flow) -> None:
        if len(flow.inputs) < self.layer:
            raise ValueError(
                f"context {self.context!r} of layer {self.layer} needs the inputs of layers "
                f"1 to {self.layer}; the flow has {len(flow.inputs)}"
            )
        if flow.session is not None and self.global_levels and flow.past is None:
            # the mean of the new position alone would be taken for the running mean
            raise ValueError(
                f"context {self.context!r} decodes with running means; the flow has no `past`"
            )

    def _project_contexts(self, flow: Flow) -> Tensor:
        """Returns C U for queries, keys or both, (B, T, N, C), or (B, 1, N, C) when all positions
        share it.

        Queries and keys share one product. Global contexts that all positions share are multiplied
        once per sentence, not once per position.
        """
        self._check(flow)
        means = [global_context(flow, level) for level in self.global_levels]
        deep = [flow.inputs[level] for level in self.deep_levels]
        if not (deep and means) or means[0].shape == deep[0].shape:
            projected = self.context_proj(torch.cat(means + deep, dim=-1))
        else:  # [c; H] U = c U_1 + H U_2, with c (B, 1, ·) and H (B, T, ·)
            widths = [sum(part.size(-1) for part in group) for group in (means, deep)]
            shared, own = self.context_proj.matrix.split_with_sizes(widths, dim=1)
            projected = nn.functional.linear(torch.cat(deep, dim=-1), own)
            projected = projected + nn.functional.linear(torch.cat(means, dim=-1), shared)
        by_part: Tensor = projected.unflatten(-1, (len(self.mixed), -1))
        return by_part

    def _gate(self, mixed: Tensor, context: Tensor) -> Tensor:
        """Returns λ (B, T, N, 1), Eq. (6), of `mixed`: Q, K or both, and of C U (B, T, N, C)."""
        # no einsum, which copies its factors for a product of matrices
        of_input = (mixed * self.gate_input).sum(dim=-1, keepdim=True)
        of_context = (context * self.gate_context).sum(dim=-1, keepdim=True)
        return torch.sigmoid(of_input + of_context).type_as(mixed)


def context_levels(context: str, layer: int) -> tuple[range, range]:
    """Returns the layer inputs that make up a context.

    Args:
        context: one of those above
        layer: the layer that uses it, 1-based

    Returns:
        0-based levels i of the global contexts c^{i+1} (eqs 8, 10), and of the layer inputs
        H^{i+1} (eq. 9); both are empty for the deep context of layer 1, the lowest layer

    Raises:
        ValueError: unknown context, or a layer below 1
    """
    CONTEXT_AWARE.check(context=context)
    if layer < 1:
        raise ValueError(f"layer is {layer}; layers are counted from 1")
    none, below, so_far = range(0), range(layer - 1), range(layer)
    levels = {
        "global": (range(layer - 1, layer), none),  # Eq. (8): c^l
        "deep": (none, below),  # Eq. (9): H^1 … H^{l-1}
        "deep-global": (so_far, none),  # Eq. (10): c^1 … c^l
        "deep-global+deep": (so_far, below),
    }
    return levels[context]


def global_context(flow: Flow, level: int) -> Tensor:
    """Returns the global context c^{level + 1}, eq. (8), computed once for all layers.

    Returns:
        the mean of ``flow.inputs[level]`` over real positions, (B, 1, C); for causal stacks at
        position t the mean over real positions ≤ t, (B, T, C)
    """

    def compute() -> Tensor:
        # Activation checkpointing runs a layer twice and expects it to save the same tensors twice,
        # but the second run finds the mean: keep what it saves (masks and counts, no activations)
        # out of the checkpoint's sight.
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            x = flow.inputs[level]
            # sums in half precision lose steps
            precise = x.to(torch.promote_types(x.dtype, torch.float32))
            if flow.past is not None:
                mean = _next_running_mean(flow.past, level, precise)
            elif flow.mask.causal:
                mean = _running_mean(flow, precise)
            else:
                mean = _mean(flow, precise)
            return mean.type_as(x)

    return flow.shared(("global context", level), compute)


def _mean(flow: Flow, x: Tensor) -> Tensor:
    """Returns the mean (B, 1, C) over the real positions of x (B, T, C)."""
    return (x * flow.mean_weights(x)).sum(dim=1, keepdim=True)


def _running_mean(flow: Flow, x: Tensor) -> Tensor:
    """Returns the means (B, T, C) over real positions ≤ t of x (B, T, C)."""
    total = flow.mask.zero_padding(x).cumsum(dim=1)
    # padding on the left has seen nothing yet: divide by one there, its rows are not used
    seen = flow.shared(("seen", x.dtype), lambda: flow.mask.real(x).cumsum(dim=1).clamp(min=1.0))
    return total / seen


def _next_running_mean(past: dict[str, Tensor], level: int, new: Tensor) -> Tensor:
    """Returns the mean (R, 1, C) over all decoding steps so far; `new` (R, 1, C) is the last."""
    total, steps = f"sum{level}", f"steps{level}"
    if total not in past:
        past[total] = torch.zeros_like(new)
        past[steps] = new.new_zeros(len(new), 1, 1)
    past[total] = past[total] + new
    past[steps] = past[steps] + 1
    return past[total] / past[steps]
