"""Our dropout keeps what torch's keeps: probability, scale, gradient, reproducibility."""

import pytest
import torch

from dc_nmt_plugin.modules.core.dropout import add_dropped, dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_probability_and_scale(p):
    torch.manual_seed(1)
    x = torch.ones(1001, 503)
    y = dropout(x, p, training=True)
    assert float((y == 0).float().mean()) == pytest.approx(p, abs=3e-3)
    assert torch.allclose(y[y != 0], torch.tensor(1 / (1 - p)), rtol=1e-4)
    assert float(y.mean()) == pytest.approx(1.0, abs=5e-3)
    # neighbours that share one random word are independent
    zero = (y == 0).flatten()[: 4 * 125_000].view(-1, 4).float()
    assert torch.allclose(torch.corrcoef(zero.t()), torch.eye(4), atol=0.02)


def test_gradient_is_the_mask():
    torch.manual_seed(1)
    x = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    y = dropout(x, 0.4, training=True)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.allclose(gradient * x, y)


def test_identity_outside_training_and_at_zero():
    x = torch.randn(4)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x


@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("training", [True, False])
def test_added_to_a_residual_it_is_the_same(p, training):
    x, y = torch.randn(2, 6, 11, dtype=torch.float64, requires_grad=True)
    results = []
    for add in (add_dropped, lambda x, y, p, training: x + dropout(y, p, training)):
        torch.manual_seed(1)
        total = add(x, y, p, training)
        gradients = torch.autograd.grad(total.square().sum(), (x, y))
        results.append([total.detach(), *gradients])
    for ours, plain in zip(*results, strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-12, atol=1e-12)


def test_the_seed_decides():
    x = torch.ones(3, 4, 5)[:, 1:]  # not contiguous
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(dropout(x, 0.5, training=True))
    assert torch.equal(results[0], results[1]) and not torch.equal(results[0], results[2])
    assert results[0].shape == x.shape


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    assert dropout(torch.ones(64, dtype=dtype), 0.5, training=True).dtype == dtype
