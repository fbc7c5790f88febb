"""The chunked projection and loss against the formula written out, and its memory."""

import math

import pytest
import torch

from dc_nmt_plugin.modules.fast.chunked_loss import label_smoothed_loss


def written_out(features, weight, bias, target, epsilon):
    """(1 - ε - ε_i) nll + ε_i Σ_v -log p_v, one token after the other."""
    eps_i = epsilon / (weight.size(0) - 1)
    loss = nll = torch.zeros((), dtype=features.dtype)
    correct = 0
    for row, token in zip(features, target.tolist(), strict=True):
        logits = [row @ weight[v] + (0 if bias is None else bias[v]) for v in range(len(weight))]
        normaliser = torch.logsumexp(torch.stack(logits), 0)
        log_p = [logit - normaliser for logit in logits]
        nll = nll - log_p[token]
        loss = loss - (1 - epsilon - eps_i) * log_p[token] - eps_i * sum(log_p)
        correct += int(torch.stack(logits).argmax()) == token
    return loss, nll, correct


@pytest.fixture
def inputs():
    torch.manual_seed(1)
    features = torch.randn(13, 6, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(17, 6, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(17, dtype=torch.float64, requires_grad=True)
    return features, weight, bias, torch.randint(0, 17, (13,))


@pytest.mark.parametrize("chunk_rows", [1, 5, 13, 100])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("with_bias", [True, False])
def test_values_and_gradients(inputs, chunk_rows, epsilon, with_bias):
    features, weight, bias, target = inputs
    bias = bias if with_bias else None
    variables = [v for v in (features, weight, bias) if v is not None]
    expected = written_out(features, weight, bias, target, epsilon)
    actual = label_smoothed_loss(
        features,
        weight,
        target,
        epsilon=epsilon,
        bias=bias,
        count_correct=True,
        chunk_rows=chunk_rows,
    )
    assert torch.allclose(actual.loss, expected[0], atol=1e-10)
    assert torch.allclose(actual.nll, expected[1], atol=1e-10)
    assert int(actual.correct) == expected[2]
    # a loss scale other than one, as in mixed precision
    theirs = torch.autograd.grad(3.5 * expected[0], variables)
    ours = torch.autograd.grad(3.5 * actual.loss, variables)
    assert all(torch.allclose(a, b, atol=1e-10) for a, b in zip(ours, theirs, strict=True))


def test_a_tied_matrix_gets_both_gradients(inputs):
    _, weight, _, target = inputs
    tokens = torch.randint(0, 17, (13,))
    plain = written_out(weight[tokens], weight, None, target, 0.1)[0]
    chunked = label_smoothed_loss(weight[tokens], weight, target, epsilon=0.1, chunk_rows=4).loss
    (a,), (b,) = torch.autograd.grad(plain, weight), torch.autograd.grad(chunked, weight)
    assert torch.allclose(a, b, atol=1e-10)


def test_no_gradient_work_in_evaluation(inputs):
    features, weight, bias, target = inputs
    with torch.no_grad():
        result = label_smoothed_loss(features, weight, target, epsilon=0.1, bias=bias)
    assert not result.loss.requires_grad


def test_large_logits_stay_finite():
    features = torch.tensor([[1e4, -1e4]], requires_grad=True)
    weight = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    result = label_smoothed_loss(features, weight, torch.tensor([1]), epsilon=0.1)
    result.loss.backward()
    assert math.isfinite(float(result.loss)) and torch.isfinite(features.grad).all()


@pytest.mark.parametrize("chunk_rows", [4, 100])
@pytest.mark.parametrize(
    ("dtype", "resolution"), [(torch.bfloat16, 2**-8), (torch.float16, 2**-11)]
)
def test_half_precision(inputs, dtype, resolution, chunk_rows):
    """Softmax and sums in float32; each gradient adds up over all chunks."""
    features, weight, bias, target = (x.detach() for x in inputs)
    half = [x.to(dtype).requires_grad_() for x in (features, weight, bias)]
    loss = label_smoothed_loss(
        half[0], half[1], target, epsilon=0.1, bias=half[2], chunk_rows=chunk_rows
    ).loss
    assert loss.dtype == torch.float32
    with torch.no_grad():  # of the logits as the half product rounds them
        logits = torch.cat(
            [part @ half[1].t() + half[2] for part in half[0].split(chunk_rows)]
        ).double()
    rounded = label_smoothed_loss(
        logits, torch.eye(17, dtype=torch.float64), target, epsilon=0.1
    ).loss
    assert float(loss) == pytest.approx(float(rounded), rel=1e-6)

    exact = [x.detach().double().requires_grad_() for x in half]
    wanted = label_smoothed_loss(exact[0], exact[1], target, epsilon=0.1, bias=exact[2]).loss
    found = torch.autograd.grad(3.0 * loss, half)
    for ours, theirs in zip(found, torch.autograd.grad(3.0 * wanted, exact), strict=True):
        assert ours.dtype == dtype
        error = (ours.double() - theirs).norm() / theirs.norm()
        assert float(error) < 2 * resolution


def test_autocast_projects_in_its_precision(inputs):
    features, weight, _, target = inputs
    features = features.detach().float().requires_grad_()
    weight = weight.detach().float().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = label_smoothed_loss(features, weight, target, epsilon=0.1).loss
    loss.backward()
    assert features.grad.dtype == weight.grad.dtype == torch.float32
