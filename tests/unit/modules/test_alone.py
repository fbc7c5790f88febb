"""Modules outside a model: another device, a sentence of padding alone, wrong sources."""

import pytest
import torch

import dc_nmt_plugin as dc
from dc_nmt_plugin import recording

SIZES = {"embed_dim": 32, "num_heads": 4}
SELF_ATTENTIONS = [
    dc.SelfAttention(**SIZES),
    dc.DualContextAttention(**SIZES),
    dc.ContextAwareSelfAttention(**SIZES, layer=1, context="global"),
    dc.CrossAggregationSelfAttention(**SIZES),
    dc.CrossAggregationSelfAttention(**SIZES, routing="horizontal", init="self"),
]
SEPARATE = {"joint_weights": False, "sum_contexts": False}


@pytest.mark.parametrize("attention", SELF_ATTENTIONS, ids=lambda each: type(each).__name__)
def test_a_sentence_of_padding_alone_and_another_device(attention):
    x = torch.randn(2, 5, 32, requires_grad=True)
    padding = torch.tensor([[False] * 4 + [True], [True] * 5])
    with recording(attention) as records:
        output = attention(x, padding)
    output[0].sum().backward()
    for tensor in (output, x.grad, *records[""].values()):
        assert torch.isfinite(tensor).all()
    for parameter in attention.parameters():
        assert parameter.grad is None or torch.isfinite(parameter.grad).all()
    with torch.device("meta"):
        moved = type(attention)(**SIZES, **({"layer": 1} if hasattr(attention, "layer") else {}))
        assert moved(torch.empty(2, 5, 32), torch.empty(2, 5, dtype=torch.bool)).is_meta


@pytest.mark.parametrize("widths", [[32], [32, 32, 32], [16, 16]])
def test_wrong_source_layers_are_one_sentence(widths):
    features = [torch.randn(2, 7, width) for width in widths]
    x, flow = torch.randn(2, 5, 32), dc.Flow(source=dc.Source(features, padding=None))
    attention = dc.MultiLayerAttention(source_dim=32, num_layers=2, **SIZES, **SEPARATE)
    words = rf"layers of the widths \[{', '.join(map(str, widths))}\], not {{}} of width 32"
    with pytest.raises(ValueError, match=words.format(2)):
        attention(x, flow)
    if widths != [32]:
        with pytest.raises(ValueError, match=words.format(1)):
            dc.SourceAttention(source_dim=32, **SIZES)(x, flow)
    for aggregation in (dc.LinearAggregation, dc.IterativeAggregation):
        with pytest.raises(ValueError, match=words.format(2)):
            aggregation(embed_dim=32, num_layers=2)(features)


def test_a_star_imports_the_public_names():
    names = {}
    exec("from dc_nmt_plugin import *", names)
    assert set(dir(dc)) - {"__doc__", "__version__"} <= set(names)
