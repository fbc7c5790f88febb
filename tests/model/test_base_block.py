"""Axis D: the parts of the base block against their papers, and how a model takes them."""

import pytest
import torch
from helpers import build, perturb, task
from reference.base_block import rms_norm, swiglu_network

from dc_nmt_plugin.errors import ConfigError
from dc_nmt_plugin.laboratory.parameter_count import build_without_memory, count
from dc_nmt_plugin.modules.feed_forward import gated_width

MODERN = {"base": "modern"}


def layer(**settings):
    return perturb(build("transformer_standard", **settings)).double().encoder.layers[0]


def test_rms_norm_equals_the_paper():
    norm = layer(norm="rms_norm").final_layer_norm
    x = torch.randn(3, 12, dtype=torch.float64)
    expected = torch.stack([rms_norm(row, norm.weight) for row in x])
    torch.testing.assert_close(norm(x), expected, rtol=0, atol=1e-5)  # its ε
    assert [name for name, _ in norm.named_parameters()] == ["weight"]


def test_swiglu_equals_the_paper():
    net = layer(activation_fn="swiglu")
    x = torch.randn(3, 12, dtype=torch.float64)
    w, v = net.fc1.weight.t().chunk(2, dim=1)
    expected = torch.stack([swiglu_network(row, w, v, net.fc2.weight.t()) for row in x])
    torch.testing.assert_close(net.feed_forward(x), expected, rtol=0, atol=1e-10)
    assert net.fc1.bias is None and net.fc2.bias is None


@pytest.mark.parametrize("ffn", [256, 512, 1024, 2048, 4096])
def test_a_gated_network_has_as_many_parameters(ffn):
    plain, gated = 2 * 128 * ffn + ffn + 128, 3 * 128 * gated_width(ffn)
    assert gated == pytest.approx(plain, rel=0.025)
    assert gated_width(ffn) % 8 == 0 and gated_width(2048) == 1368


def test_modern_has_as_many_parameters_as_the_original():
    words, arch = task(8000).source_dictionary, "transformer_standard_iwslt"
    sizes = [count(build_without_memory(arch, base, words)) for base in ({}, MODERN)]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.02)


def test_modern_is_what_its_flags_say():
    spelt_out = {
        "norm": "rms_norm",
        "activation_fn": "swiglu",
        "positions": "rotary",
        "encoder_normalize_before": True,
        "decoder_normalize_before": True,
    }
    one = build("transformer_dc", **MODERN)
    other = build("transformer_dc", **spelt_out)
    assert repr(one) == repr(other)
    for (name, a), (_, b) in zip(one.named_parameters(), other.named_parameters(), strict=True):
        assert torch.equal(a, b), name


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"base": "moderm"}, ["--base", "moderm", "Did you mean 'modern'"]),
        ({"base": "modern", "encoder_learned_pos": True}, ["--encoder-learned-pos", "rotary"]),
    ],
    ids=str,
)
def test_wrong_values_are_named(settings, words):
    with pytest.raises(ConfigError) as caught:
        build("transformer_standard", **settings)
    assert all(word in str(caught.value) for word in words), caught.value
