"""Projecting for all decoder layers at once keeps what each layer would have kept."""

import itertools

import pytest
import torch
from reference.parameters import randomise

from dc_nmt_plugin.modules.core.attention import SourceAttention
from dc_nmt_plugin.modules.core.flow import Flow
from dc_nmt_plugin.modules.core.source import Source
from dc_nmt_plugin.modules.core.source_projection import project_all
from dc_nmt_plugin.modules.multi_layer_attention import MultiLayerAttention

WIDTH, SOURCE_WIDTH, HEADS, LAYERS = 12, 14, 3, 3


def decoder(joint_weights, sum_contexts, bias, num_layers=LAYERS, depth=4):
    shape = {"embed_dim": WIDTH, "source_dim": SOURCE_WIDTH, "num_heads": HEADS, "bias": bias}
    forms = {
        "num_layers": num_layers,
        "joint_weights": joint_weights,
        "sum_contexts": sum_contexts,
    }
    return [randomise(MultiLayerAttention(**shape, **forms), seed) for seed in range(depth)]


def plain_decoder(bias):
    shape = {"embed_dim": WIDTH, "source_dim": SOURCE_WIDTH, "num_heads": HEADS, "bias": bias}
    return [randomise(SourceAttention(**shape), seed) for seed in range(4)]


def source(num_layers):
    torch.manual_seed(1)
    features = [torch.randn(2, 5, SOURCE_WIDTH, dtype=torch.float64) for _ in range(num_layers)]
    return Source(features, None, beam=2)


def assert_same_cache(attentions, together):
    apart = Source(together.features, together.padding, beam=together.beam)
    x = torch.randn(4, 1, WIDTH, dtype=torch.float64)
    for module in attentions:
        wanted = module(x, Flow(source=apart, state={}))
        kept, lazily = together.cache[id(module)], apart.cache[id(module)]
        for one, other in zip(kept, lazily, strict=True):
            assert one.is_contiguous() and one.stride() == other.stride()
            torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
        output = module(x, Flow(source=together, state={}))
        torch.testing.assert_close(output, wanted, rtol=0, atol=1e-12)
    assert set(together.cache) == set(apart.cache)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("joint, summed", list(itertools.product((True, False), repeat=2)))
def test_multi_layer_attention(joint, summed, bias):
    attentions, together = decoder(joint, summed, bias), source(LAYERS)
    project_all(attentions, together)
    assert_same_cache(attentions, together)


@pytest.mark.parametrize("bias", [True, False])
def test_plain_attention(bias):
    attentions, together = plain_decoder(bias), source(1)
    project_all(attentions, together)
    assert_same_cache(attentions, together)


def test_kinds_may_differ_between_layers():
    attentions = [*plain_decoder(True)[:2], *decoder(True, True, True, num_layers=1)[2:]]
    together = source(1)
    project_all(attentions, together)
    assert_same_cache(attentions, together)
