"""oneDNN's layers translate like torch's, with the weights of the moment."""

import pytest
import torch
from helpers import build, perturb, translated
from product import VALUES
from product import model as transformer

from dc_nmt_plugin.speed import onednn_layers
from dc_nmt_plugin.speed.bfloat16 import bfloat16_products

pytestmark = pytest.mark.skipif(
    not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="this torch has no oneDNN"
)


@pytest.fixture
def products(monkeypatch):
    """Collects oneDNN's products, which are used on every processor."""
    seen = []
    ops = torch.ops.mkldnn
    multiply = ops._linear_pointwise
    monkeypatch.setattr(ops, "_linear_pointwise", lambda *a: seen.append(a) or multiply(*a))
    monkeypatch.setattr(onednn_layers, "_helps", lambda bfloat16: True)
    return seen


def hypotheses_of(model, **options):
    before = list(model.modules())
    hypotheses = translated(model, **options)
    assert list(model.modules()) == before
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
    packed = hypotheses_of(model)
    assert products
    monkeypatch.setattr(onednn_layers, "_helps", lambda bfloat16: False)
    same(packed, hypotheses_of(model))


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
    packed = hypotheses_of(model, **options)
    assert products
    monkeypatch.setattr(onednn_layers, "_helps", lambda bfloat16: False)
    same(packed, hypotheses_of(model, **options))


def test_weights_of_the_moment(products):
    model = perturb(build("transformer_ctxaware"))
    before = hypotheses_of(model)
    for parameter in model.parameters():
        parameter.data.mul_(1.5)  # torch counts no change of .data
    after = hypotheses_of(model)
    assert not torch.equal(before[0]["positional_scores"], after[0]["positional_scores"])
    same(after, hypotheses_of(model))


@pytest.mark.skipif(not onednn_layers._helps(bfloat16=True), reason="this CPU has no bfloat16")
def test_bfloat16_holds_rounded_weights(products):
    model = perturb(build("transformer_dc"))
    plain = hypotheses_of(model)
    products.clear()
    with bfloat16_products():
        rounded = hypotheses_of(model)
    assert {weight.dtype for _, weight, *_ in products} == {torch.bfloat16}
    scores = [torch.stack([each["score"] for each in some]) for some in (rounded, plain)]
    assert not torch.equal(*scores) and torch.allclose(*scores, atol=0.1)


def test_elsewhere_nothing_changes(products):
    model = build("transformer_dc")

    def applies(model):
        with onednn_layers.onednn_layers([model]):
            return any(isinstance(m, onednn_layers.OneDnnLinear) for m in model.modules())

    assert applies(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not applies(model)
    assert not applies(build("transformer_dc").double())
    assert not applies(build("transformer_dc").to("meta"))


@pytest.mark.parametrize(
    ("name", "instructions", "expected"),
    [("AMD EPYC 9654", "AVX512", True), ("AMD EPYC 7763", "AVX2", False),
     ("Intel(R) Xeon(R)", "AVX512", False)],
)  # fmt: skip
def test_the_processor_decides(name, instructions, expected, monkeypatch):
    monkeypatch.setattr(onednn_layers, "processor", lambda: f"{name}, 2 cores")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: instructions)
    assert onednn_layers._helps.__wrapped__(bfloat16=False) == expected
