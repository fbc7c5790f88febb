"""Products of linear layers in bfloat16: what is rounded, and that nothing else changes."""

import argparse

import pytest
import torch
import torch.nn.functional as F
from helpers import build, dictionary, perturb, sample, sentences
from product import VALUES
from product import model as transformer

from dc_nmt_plugin import compat
from dc_nmt_plugin.criterions.joint_loss import JointLossCriterion
from dc_nmt_plugin.speed import bfloat16
from dc_nmt_plugin.speed.bfloat16 import bfloat16_products
from dc_nmt_plugin.tasks.translation import JointTranslationTask, TranslationConfig

compat.apply(all_of_them=True)  # linear layers ask for the products here, as in fairseq's programs


def test_products_alone_are_rounded():
    torch.manual_seed(1)
    layer, x = torch.nn.Linear(48, 24), torch.randn(3, 5, 48, requires_grad=True)
    outer = torch.randn(3, 5, 24)
    with bfloat16_products():
        output = layer(x)
        output.mul_(1)  # as fairseq does
        (output * outer).sum().backward()
    low = [value.detach().bfloat16().float() for value in (x, layer.weight, outer)]
    assert output.dtype == x.grad.dtype == layer.weight.grad.dtype == torch.float32
    torch.testing.assert_close(output, low[0] @ low[1].t() + layer.bias, rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(x.grad, low[2] @ low[1], rtol=1e-2, atol=1e-2)
    by_weight = low[2].flatten(0, 1).t() @ low[0].flatten(0, 1)
    torch.testing.assert_close(layer.weight.grad, by_weight, rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(layer.bias.grad, outer.sum(dim=(0, 1)))
    assert not torch.equal(output, layer(x))
    torch.testing.assert_close(layer(x), F.linear(x, layer.weight, layer.bias), rtol=0, atol=0)


def test_weights_are_rounded_once_and_not_kept():
    layer, x = torch.nn.Linear(8, 8), torch.randn(2, 8)
    outputs = []
    for _ in range(2):
        with bfloat16_products():
            outputs.append(layer(x))
            assert bfloat16.rounded(layer.weight) is bfloat16.rounded(layer.weight)
            with torch.no_grad():
                layer.weight.add_(1)  # as an optimizer does
            assert torch.equal(bfloat16.rounded(layer.weight), layer.weight.bfloat16())
        layer.weight.data.mul_(2)  # torch counts no change of .data
    assert not torch.equal(*outputs)


def gradients(model):
    """Loss and gradients of a training step by fairseq's task."""
    torch.manual_seed(1)
    batch = sample(sentences([5, 3, 4]), sentences([4, 2, 5], seed=5))
    own = JointTranslationTask(TranslationConfig(), dictionary(), dictionary())
    optimizer = argparse.Namespace(backward=lambda loss: loss.backward())
    model.train().zero_grad()
    loss, _, _ = own.train_step(batch, model, JointLossCriterion(own, False, 0.1), optimizer, 1)
    return loss, {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("combination", VALUES, ids=" ".join)
def test_every_kind_learns_nearly_the_same(combination):
    model = perturb(transformer(combination))
    exact, in_float32 = gradients(model)
    with bfloat16_products():
        loss, rounded = gradients(model)
    assert loss != exact and loss.item() == pytest.approx(exact.item(), rel=1e-2)
    assert rounded.keys() == in_float32.keys()
    assert {gradient.dtype for gradient in rounded.values()} == {torch.float32}
    exact, near = (
        torch.cat([every[name].flatten() for name in in_float32]) for every in (in_float32, rounded)
    )
    assert 0 < (near - exact).norm() < 0.15 * exact.norm()


def test_so_does_every_layer_of_fairseqs_model():
    """Its attention hands the weights of its layers to a function of torch."""
    model = build("transformer").train()
    with bfloat16_products():
        model(**sample(sentences([5, 3, 4]), sentences([4, 2, 5], seed=5))["net_input"])
        layers = [layer for layer in model.modules() if isinstance(layer, torch.nn.Linear)]
        assert {id(layer.weight) for layer in layers} == bfloat16._weights.keys()


def test_autocast_and_other_types_have_their_own_way():
    x, weight = torch.randn(2, 3), torch.randn(4, 3)
    with bfloat16_products():
        torch.testing.assert_close(F.linear(x.double(), weight.double()), (x @ weight.t()).double())
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert F.linear(x, weight).dtype == torch.bfloat16
