"""Initial weights of the recurrent models, as in the dl4mt tutorial that the paper uses."""

from __future__ import annotations

from torch import Tensor, nn

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
