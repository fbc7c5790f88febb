"""Initial weights: fairseq's for the parts that fairseq has, one rule for the papers' additions.

fairseq's Transformer starts its attention projections from Xavier-uniform weights and leaves
everything else (feed-forward networks, the biases of query, key and value) at ``nn.Linear``'s
own, U(-1/√fan-in, 1/√fan-in). This matters in post-norm. If the output of a sublayer starts too
large, it dominates the residual connection. Then the tokens look alike at the top of the encoder,
and the decoder learns its alignment hundreds of updates later.

The papers do not describe initial weights. Their additions follow one rule: projections of
attention start like fairseq's, and all other matrices like ``nn.Linear``. At the start, a part that
replaces a sublayer (or the decoder's source) has an output of at most the same variance.
``tests/model/test_initial_weights.py`` checks both.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def input_projection(linear: nn.Linear, *, blocks: int = 1, shared_width: bool = True) -> nn.Linear:
    """Initialises a projection to queries, keys or values like fairseq's ``MultiheadAttention``.

    Args:
        linear: `blocks` projections stacked along the output, each Xavier-uniform as a matrix of
            its own; biases stay ``nn.Linear``'s. It is returned.
        blocks: number of stacked projections
        shared_width: queries, keys and values read inputs of the same width: gain 1/√2, else 1
    """
    for block in linear.weight.chunk(blocks, dim=0):
        nn.init.xavier_uniform_(block, gain=1 / math.sqrt(2) if shared_width else 1.0)
    return linear


def output_projection(linear: nn.Linear, *, contexts: int = 1, summed: bool = False) -> nn.Linear:
    """Initialises the output projection of attention: Xavier-uniform, zero bias.

    With several contexts (side by side, or summed before the projection) the output has the
    variance that one context would give: W: nC → C starts as U(±√(3 / nC)), for n = 1 fairseq's
    Xavier-uniform C × C.

    Args:
        linear: the projection, which is returned
        contexts: number n of contexts that it reads
        summed: its input is the contexts' sum (width C) instead of their concatenation (nC)
    """
    width = linear.in_features if summed else linear.in_features // contexts
    fan = (width + linear.out_features) / 2
    bound = math.sqrt(3 / (fan * contexts))
    nn.init.uniform_(linear.weight, -bound, bound)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)
    return linear


def scale_with_depth(layer: nn.Module, depth: int, alpha: float) -> None:
    """Multiplies every matrix of a layer by α / √l (depth-scaled initialisation).

    B. Zhang, I. Titov, R. Sennrich, "Improving Deep Transformer with Depth-Scaled Initialization
    and Merged Attention", EMNLP 2019, section 4: W ~ U(-γ α/√l, γ α/√l). The outputs of the
    sublayers, products of two matrices, start α²/l times as large, so the residual connections have
    more weight.

    Args:
        layer: an encoder or decoder layer, initialised
        depth: its number l in its stack, from 1
        alpha: α of the paper, in (0, 1]; the paper has 1
    """
    with torch.no_grad():
        for parameter in layer.parameters():
            if parameter.dim() >= 2:
                parameter.mul_(alpha / math.sqrt(depth))


# -- recurrent models: as in the dl4mt tutorial, which the paper uses -----------------------------

SCALE = 0.01
"""Standard deviation of the weights ("a standard normal distribution scaled to a factor of
0.01", Miculicich Werlen et al. 2018, section 6.2)."""


def init_linear(linear: nn.Linear) -> nn.Linear:
    """Draws weights from N(0, 0.01²) and sets biases to zero."""
    nn.init.normal_(linear.weight, std=SCALE)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)
    return linear


def init_square_blocks_(weight: Tensor) -> None:
    """Makes `weight` (k · n, n) a stack of k orthogonal matrices, as dl4mt's square matrices."""
    for block in weight.split(weight.size(1)):
        nn.init.orthogonal_(block)


def init_recurrent(rnn: nn.RNNBase) -> nn.RNNBase:
    """Makes recurrent weights orthogonal per gate, draws input weights from N(0, 0.01²), zeros
    biases."""
    for name, parameter in rnn.named_parameters():
        if name.startswith("bias"):
            nn.init.zeros_(parameter)
        elif name.startswith("weight_hh"):
            init_square_blocks_(parameter.data)
        else:
            nn.init.normal_(parameter, std=SCALE)
    return rnn
