"""Specifications of stacks: what they mean, that they equal the flags, and how errors point."""

import pytest
from helpers import build

from dc_nmt_plugin.errors import ConfigError
from dc_nmt_plugin.models.transformer.config import TransformerConfig, idle_settings

SIX = {"encoder_layers": 6, "decoder_layers": 2}


def layers(text, side="encoder", **settings):
    cfg = TransformerConfig(**{**SIX, f"{side}_layers_of": text, **settings})
    cfg.check()
    return cfg.self_attentions(side)


def test_kinds_options_and_numbers():
    kinds = layers(
        "dual_context(kernel=3)*2 context_aware( context = deep , gate=none ) * 3 standard"
    )
    assert [layer.mechanism.name for layer in kinds] == [
        *["dual_context"] * 2,
        *["context_aware"] * 3,
        "standard",
    ]
    assert [kinds[0].options["kernel"], kinds[2].options["context"]] == [3, "deep"]
    assert [kinds[2].options["on"], kinds[2].options["gate"]] == ["both", "none"]


def test_an_option_that_is_not_given_has_the_value_of_its_flag():
    kinds = layers("dual_context*3 dual_context(kernel=5)*3", dc_kernel_size=4)
    assert [layer.options["kernel"] for layer in kinds] == [4, 4, 4, 5, 5, 5]


def test_switches_and_numbers_have_their_types():
    (layer, *_) = layers("cross_aggregation(checkpoint=TRUE, iterations=5)*6")
    assert (layer.options["checkpoint"], layer.options["iterations"]) == (True, 5)


@pytest.mark.parametrize(
    "flags, text",
    [
        ({}, "standard*3"),
        (
            {"encoder_self_attention": "dual_context", "dc_kernel_size": 3},
            "dual_context(kernel=3)*3",
        ),
        (
            {"encoder_self_attention": "context_aware", "encoder_self_attention_layers": "2-3"},
            "standard context_aware*2",
        ),
        (
            {"encoder_self_attention": "cross_aggregation", "xagg_iterations": 2},
            "cross_aggregation(iterations=2)*3",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_flags_and_specification_give_the_same_model(flags, text):
    one, other = (
        build("transformer_standard", **more) for more in (flags, {"encoder_layers_of": text})
    )
    assert repr(one) == repr(other)
    pairs = zip(one.state_dict().items(), other.state_dict().items(), strict=True)
    assert all(a == b and bool((x == y).all()) for (a, x), (b, y) in pairs)


WRONG = {
    "": "--encoder-layers-of: '' is not a list",
    "standard*5": r"--encoder-layers-of: 'standard\*5' has 5 layers, and --encoder-layers is 6",
    "dual_contxt*6": r"'dual_contxt\*6': 'dual_contxt' is not one of standard, .* "
    "Did you mean 'dual_context'",
    "standard*4 dual_context(kernl=3)*2": r"'dual_context\(kernl=3\)\*2': option: 'kernl' "
    "is not one of kernel. Did you mean 'kernel'",
    "dual_context(kernel=0)*6": "kernel: 0 is not at least 1",
    "dual_context(kernel=two)*6": "kernel: 'two' is not a whole number",
    "dual_context(kernel)*6": "give option kernel once, as kernel=VALUE",
    "dual_context(kernel=2,kernel=3)*6": "give option kernel once",
    "standard(kernel=2)*6": "standard has no options",
    "context_aware(context=shallow)*6": "context: 'shallow' is not one of global",
    "cross_aggregation(checkpoint=yes)*6": "checkpoint: 'yes' is not true or false",
    "cross_aggregation(init=self, routing=vertical)*6": "--xagg-init: 'self' starts the horizontal",
    "context_aware(context=deep) standard*5": "--ctx-context: 'deep' .* layer 1 has none below",
    "standard*0 standard*6": r"'standard\*0 standard\*6' is not a list",
    "standard*6 dual_context(kernel=3": r"'dual_context\(kernel=3' is not a list of layers",
}


@pytest.mark.parametrize("text", WRONG)
def test_errors_point_into_the_specification(text):
    with pytest.raises(ConfigError, match=WRONG[text]) as caught:
        layers(text)
    assert len(caught.value.problems) == 1


def test_what_cannot_be_causal_is_refused_in_the_decoder():
    kinds = "standard, dual_context, context_aware"
    with pytest.raises(ConfigError, match=f"--decoder-layers-of: .* is not one of {kinds}"):
        layers("standard cross_aggregation", side="decoder")


def test_layers_are_said_in_one_way():
    with pytest.raises(ConfigError, match="--encoder-self-attention: dual_context is what"):
        layers("standard*6", encoder_self_attention="dual_context")
    with pytest.raises(ConfigError, match="--encoder-self-attention-layers: 1-2 is what"):
        layers("standard*6", encoder_self_attention_layers="1-2")


def test_flags_without_effect():
    idle = idle_settings(TransformerConfig(**SIX, encoder_layers_of="dual_context*6"))
    assert "this model has none" in idle["ctx_gate"]
    assert "dc_kernel_size" not in idle
    other = TransformerConfig(**SIX, encoder_layers_of="dual_context(kernel=3)*6", dc_kernel_size=5)
    assert "no layer has this kernel" in idle_settings(other)["dc_kernel_size"]
    for routing, is_idle in (("horizontal", True), ("both", False)):
        aggregating = {"encoder_self_attention": "cross_aggregation", "xagg_routing": routing}
        idle = idle_settings(TransformerConfig(**SIX, **aggregating))
        assert ("xagg_head_weights" in idle) == is_idle
