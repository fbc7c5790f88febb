"""oneDNN's layers learn and translate like torch's, with the weights of the moment."""

import argparse

import pytest
import torch
from helpers import build, dictionary, perturb, sample, sentences, translated
from product import VALUES
from product import model as transformer

from dc_nmt_plugin.criterions.joint_loss import JointLossCriterion
from dc_nmt_plugin.tasks.fast import onednn_layers
from dc_nmt_plugin.tasks.translation import JointTranslationTask, TranslationConfig

pytestmark = pytest.mark.skipif(
    not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="this torch has no oneDNN"
)


@pytest.fixture
def products(monkeypatch):
    """Collects oneDNN's products, which are used on every processor."""
    seen = []
    multiply = onednn_layers._multiply
    monkeypatch.setattr(onednn_layers, "_multiply", lambda *a: seen.append(a) or multiply(*a))
    monkeypatch.setattr(onednn_layers, "_helps", lambda: True)
    return seen


def found(model, **options):
    hypotheses = translated(model, **options)
    assert not any("forward" in layer.__dict__ for layer in model.modules())
    return hypotheses


def same(packed, plain):
    assert [each["tokens"].tolist() for each in packed] == [
        each["tokens"].tolist() for each in plain
    ]
    scores = [torch.stack([each["score"] for each in some]) for some in (packed, plain)]
    assert torch.allclose(*scores, atol=1e-5)


@pytest.mark.parametrize("combination", VALUES, ids=" ".join)
def test_every_kind_translates_the_same(combination, products, monkeypatch):
    model = perturb(transformer(combination))
    packed = found(model)
    assert products
    monkeypatch.setattr(onednn_layers, "_helps", lambda: False)
    same(packed, found(model))


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (lambda: build("gru_selfattn_residual", embed_dim=12, hidden_dim=14), {}),
        (lambda: build("transformer"), {}),  # fairseq's
        (lambda: build("transformer_dc"), {"match_source_len": True}),  # fairseq's loop
    ],
)
def test_so_do_other_models_and_searches(model, options, products, monkeypatch):
    model = perturb(model())
    packed = found(model, **options)
    assert products
    monkeypatch.setattr(onednn_layers, "_helps", lambda: False)
    same(packed, found(model, **options))


def test_weights_of_the_moment(products):
    model = perturb(build("transformer_ctxaware"))
    before = found(model)
    for parameter in model.parameters():
        parameter.data.mul_(1.5)  # torch counts no change of .data
    after = found(model)
    assert not torch.equal(before[0]["positional_scores"], after[0]["positional_scores"])
    same(after, found(model))


def gradients(model):
    """Loss and gradients of a training step by fairseq's task."""
    torch.manual_seed(1)
    batch = sample(sentences([5, 3, 4]), sentences([4, 2, 5], seed=5))
    own = JointTranslationTask(TranslationConfig(), dictionary(), dictionary())
    optimizer = argparse.Namespace(backward=lambda loss: loss.backward())
    model.train().zero_grad()
    criterion = JointLossCriterion(own, False, 0.1)
    loss, _, _ = own.train_step(batch, model, criterion, optimizer, 1)
    assert not any("forward" in layer.__dict__ for layer in model.modules())
    return loss, {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("combination", VALUES, ids=" ".join)
def test_every_kind_learns_the_same(combination, products, monkeypatch):
    model = perturb(transformer(combination))
    loss, fast = gradients(model)
    assert products
    monkeypatch.setattr(onednn_layers, "_helps", lambda: False)
    other, plain = gradients(model)
    assert torch.allclose(loss, other, atol=1e-4)
    assert fast.keys() == plain.keys()
    for name in plain:
        assert torch.allclose(fast[name], plain[name], rtol=1e-3, atol=1e-5), name


def test_elsewhere_nothing_changes(products):
    model = build("transformer_dc")

    def applies(model):
        with onednn_layers.onednn_layers([model]):
            return any("forward" in layer.__dict__ for layer in model.modules())

    with torch.no_grad():
        assert applies(model)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert not applies(model)
        assert not applies(build("transformer_dc").double())
        assert not applies(build("transformer_dc").to("meta"))


def test_the_processor_decides(monkeypatch):
    helps = onednn_layers._helps.__wrapped__
    monkeypatch.setattr(onednn_layers, "processor", lambda: "AMD EPYC 9654, 96 cores")
    assert helps()
    monkeypatch.setattr(onednn_layers, "processor", lambda: "Intel(R) Xeon(R), 2 cores")
    assert not helps()
