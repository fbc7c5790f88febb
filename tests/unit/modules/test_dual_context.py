"""Dual contextual self-attention against the paper's equations written out."""

import pytest
import torch
from helpers import perturb
from reference.dual_context import (
    divergence,
    dual_context,
    feature_interaction,
    local_context,
)

from dc_nmt_plugin.modules.core.flow import Flow
from dc_nmt_plugin.modules.core.masks import SequenceMask
from dc_nmt_plugin.modules.core.recording import recording
from dc_nmt_plugin.modules.diagnostics import attention_divergence
from dc_nmt_plugin.modules.dual_context import DualContextAttention

WIDTH, HEADS = 12, 3


def module(kernel=2, **options):
    torch.manual_seed(1)
    attention = DualContextAttention(embed_dim=WIDTH, num_heads=HEADS, kernel=kernel, **options)
    return perturb(attention.double())


def batch(lengths, left):
    torch.manual_seed(2)
    longest = max(lengths)
    x = torch.randn(len(lengths), longest, WIDTH, dtype=torch.float64)
    padding = torch.zeros(len(lengths), longest, dtype=torch.bool)
    for row, length in enumerate(lengths):
        if left:
            padding[row, : longest - length] = True
        else:
            padding[row, length:] = True
    return x, padding


@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_forward_and_gradients(kernel, causal, left):
    attention = module(kernel)
    lengths = [5, 1, 3]
    x, padding = batch(lengths, left)
    x.requires_grad_()
    mask = SequenceMask.build(padding, causal=causal)
    output = attention(x, Flow(mask))
    weight = torch.randn(output.shape, dtype=torch.float64)
    actual = torch.autograd.grad(
        (output * weight)[~padding].sum(), [x, *attention.parameters()], retain_graph=True
    )
    parameters = {
        **dict(attention.named_parameters()),
        "out_proj.weight": attention.out_proj.matrix,
    }
    expected = []
    for row in range(len(lengths)):
        real = ~padding[row]
        expected.append(dual_context(x[row][real], parameters, HEADS, kernel, causal))
        assert torch.allclose(output[row][real], expected[-1], atol=1e-10)
    loss = sum(
        (reference * weight[row][~padding[row]]).sum() for row, reference in enumerate(expected)
    )
    wanted = torch.autograd.grad(loss, [x, *attention.parameters()])
    assert all(torch.allclose(a, b, atol=1e-10) for a, b in zip(actual, wanted, strict=True))


def test_dropout_spares_the_residual_connection_of_the_local_context():
    local = module(residual_dropout=1 - 1e-6).local.train()
    x, _ = batch([4], left=False)
    assert torch.allclose(local(x, SequenceMask()), local.layer_norm(x))


def test_recorded_weights_are_the_two_attentions():
    attention = module()
    x, _ = batch([4], left=False)
    mask = SequenceMask.build(None)
    plain = attention(x, Flow(mask))
    with recording(attention) as records:
        recorded = attention(x, Flow(mask))
    assert torch.allclose(plain, recorded, atol=1e-12)
    p = dict(attention.named_parameters())
    local_q, *of_inputs = p["in_proj.weight"].chunk(4)
    local_bq, *biases = p["in_proj.bias"].chunk(4)
    _, alphas = feature_interaction(x[0], x[0], tuple(of_inputs), tuple(biases), HEADS, False)
    assert torch.allclose(records[""]["global_weights"][0], alphas, atol=1e-10)
    norm = p["local.layer_norm.weight"], p["local.layer_norm.bias"]
    l_c = local_context(x[0], p["local.conv.weight"], p["local.conv.bias"], norm, 2, False)
    of_local = (local_q, *p["local_proj.weight"].chunk(2))
    local_biases = (local_bq, *p["local_proj.bias"].chunk(2))
    _, alphas = feature_interaction(x[0], l_c, of_local, local_biases, HEADS, False)
    assert torch.allclose(records[""]["local_weights"][0], alphas, atol=1e-10)
    assert not attention.wants("local_weights")


def test_divergence():
    torch.manual_seed(3)
    alphas = torch.softmax(torch.randn(2, 2, HEADS, 5, 5, dtype=torch.float64), dim=-1)
    alphas[..., 2] = 0.0  # 0 log 0 = 0
    padding = torch.tensor([[False] * 5, [False, False, False, True, True]])
    total, rows = attention_divergence(alphas[0], alphas[1], padding)
    expected = divergence(alphas[0, 0], alphas[1, 0])
    expected += divergence(alphas[0, 1, :, :3], alphas[1, 1, :, :3])
    assert float(total) == pytest.approx(expected, rel=1e-5) and int(rows) == 8
    assert float(attention_divergence(alphas[0], alphas[0])[0]) == pytest.approx(0, abs=1e-6)
