"""Second derivatives of a function with a backward pass of its own are refused."""

import pytest
import torch

from dc_nmt_plugin.modules.fast.chunked_loss import label_smoothed_loss


def loss(x, weight):
    return label_smoothed_loss(x.tanh(), weight, torch.tensor([1, 2, 0]), epsilon=0.1).loss


def penalty(function, x, weight):
    """The gradient of a penalty on the gradient, as in gradient penalties and MAML."""
    gradients = torch.autograd.grad(function(x, weight), (x, weight), create_graph=True)
    total = sum(gradient.square().sum() for gradient in gradients)
    return torch.autograd.grad(total, (x, weight))


def inputs():
    torch.manual_seed(1)
    return [torch.randn(n, 4, dtype=torch.float64, requires_grad=True) for n in (3, 4)]


def test_those_of_the_chunked_loss_are_refused():
    assert torch.autograd.gradcheck(loss, inputs())
    with pytest.raises(RuntimeError, match=r"differentiate twice|not have been used"):
        penalty(loss, *inputs())
