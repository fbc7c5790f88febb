"""Second derivatives of the functions with a backward pass of their own are right, or refused."""

import pytest
import torch
from torch import nn

from dc_nmt_plugin.modules.fast.chunked_loss import label_smoothed_loss
from dc_nmt_plugin.modules.fast.packing import pack


def loss(x, weight):
    return label_smoothed_loss(x.tanh(), weight, torch.tensor([1, 2, 0]), epsilon=0.1).loss


def packed(x, weight):
    return pack(x[None], torch.tensor([0, 2])).sin().mm(weight).tanh().sum()


def rms_norm(x, weight):
    return nn.functional.rms_norm(x, (4,), weight[0], 1e-6).sin().sum()


def penalty(function, x, weight):
    """The gradient of a penalty on the gradient, as in gradient penalties and MAML."""
    gradients = torch.autograd.grad(function(x, weight), (x, weight), create_graph=True)
    total = sum(gradient.square().sum() for gradient in gradients)
    return torch.autograd.grad(total, (x, weight))


def inputs():
    torch.manual_seed(1)
    return [torch.randn(n, 4, dtype=torch.float64, requires_grad=True) for n in (3, 4)]


@pytest.mark.parametrize("function", [packed, rms_norm])
def test_they_are_right(function):
    assert torch.autograd.gradgradcheck(function, inputs())


def test_those_of_the_chunked_loss_are_refused():
    assert torch.autograd.gradcheck(loss, inputs())
    with pytest.raises(RuntimeError, match=r"differentiate twice|not have been used"):
        penalty(loss, *inputs())
