"""How the modules are put together: which layer is read, where fusion is, what flags reach."""

import operator

import pytest
import torch
from helpers import build, perturb, sample, sentences
from recurrent import MODELS
from recurrent import build as build_recurrent
from variants import PRE_NORM, VARIANTS

from dc_nmt_plugin.laboratory.ground_rules import slope_and_gradient
from dc_nmt_plugin.modules.layer_aggregation import (
    AggregationUnit,
    IterativeAggregation,
    LinearAggregation,
    WeightedSum,
)
from dc_nmt_plugin.modules.mechanisms import SELF_ATTENTIONS, decoder_kinds


def batch():
    return sample(sentences([7, 3, 5]), sentences([4, 6, 2], seed=5))


# -- no gradient is lost on the way -----------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
def test_gradients_are_the_slope_of_the_joint_loss(name):
    """Nothing is detached: lower layers' outputs, contexts, fused states, shared matrices."""
    arch, settings = VARIANTS[name]
    measured, expected = slope_and_gradient(perturb(build(arch, **settings)).double(), batch())
    assert measured == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("kind", "readout"), MODELS)
def test_gradients_are_the_slope_of_recurrent_models(kind, readout):
    inputs = batch()
    if kind == "lm":
        inputs["net_input"] = {
            "src_tokens": inputs["net_input"]["prev_output_tokens"],
            "src_lengths": None,
        }
    measured, expected = slope_and_gradient(build_recurrent(kind, readout), inputs)
    assert measured == pytest.approx(expected, rel=1e-6)


# -- which encoder layer is read --------------------------------------------------------------


def watched(net):
    """What each encoder layer gives, and what each attention to the source gets, as it runs."""
    layers, sources = {}, {}

    def watch_layer(number):
        return lambda module, args, output: layers.__setitem__(number, output)

    def watch_attention(decoder):
        return lambda module, args: sources.setdefault(decoder, []).append(args[1].source.features)

    for number, layer in enumerate(net.encoder.layers, start=1):
        layer.register_forward_hook(watch_layer(number))
    for name, stack in [("main", net.decoder.stack), *net.decoder.auxiliary.items()]:
        for layer in stack.layers:
            layer.encoder_attn.register_forward_pre_hook(watch_attention(name))
    return layers, sources


READERS = {
    "top": ({}, [3]),
    "m-10, two layers": ({"source_features": "m-10", "source_layers": 2}, [2, 3]),
    "m-00": ({"source_features": "m-00"}, [1, 2, 3]),
}


@pytest.mark.parametrize("norm", [{}, PRE_NORM], ids=["post-norm", "pre-norm"])
@pytest.mark.parametrize("name", READERS)
@torch.no_grad()
def test_every_decoder_reads_its_layers(name, norm):
    settings, numbers = READERS[name]
    net = perturb(build("transformer_standard", aux_layers="1,2", **settings, **norm))
    layers, sources = watched(net)
    net(**batch()["net_input"], features_only=True, with_auxiliary=True)

    def as_read(number):
        if not norm:
            return layers[number]
        stack = net.encoder.stack
        return (stack.layer_norm if number == 3 else net.encoder.tap_norms[str(number)])(
            layers[number]
        )

    assert sorted(sources) == ["1", "2", "main"]
    for decoder, expected in [("main", numbers), ("1", [1]), ("2", [2])]:
        assert len(sources[decoder]) == 2  # its layers
        for read in sources[decoder]:
            assert len(read) == len(expected)
            for output, number in zip(read, expected, strict=True):
                torch.testing.assert_close(output, as_read(number), rtol=0, atol=0)


@torch.no_grad()
def test_aggregation_reads_the_top_layers_lowest_first():
    net = perturb(build("transformer_mlmha_iter_c_agg", source_layers=2))
    layers, sources = watched(net)
    seen = []
    net.encoder.aggregation.register_forward_hook(
        lambda module, args, output: seen.append((args[0], output))
    )
    net(**batch()["net_input"])
    ((read, output),) = seen
    assert [id(each) for each in read] == [id(layers[2]), id(layers[3])]
    assert all(len(each) == 1 and each[0] is output for each in sources["main"])


# -- where auxiliary information is fused -----------------------------------------------------


@pytest.mark.parametrize("norm", [{}, PRE_NORM], ids=["post-norm", "pre-norm"])
@torch.no_grad()
def test_fusion_stands_between_self_attention_and_attention_to_the_source(norm):
    """Eqs (4.2), (4.3): ĥ + Σ_i W^i f^i is the query and the residual of the latter."""
    net = perturb(build("transformer_ms_aux_aif", aux_layers="1,2", **norm))
    seen = {}
    for number, layer in enumerate(net.decoder.layers):
        for part in (
            "self_attn",
            "self_attn_layer_norm",
            "encoder_attn",
            "encoder_attn_layer_norm",
        ):
            layer.get_submodule(part).register_forward_hook(
                lambda module, args, output, key=(number, part): seen.__setitem__(
                    key, (args[0], output)
                )
            )
    _, extra = net(**batch()["net_input"], features_only=True, with_auxiliary=True)
    for number, layer in enumerate(net.decoder.layers):
        (x, after_norm), (query, attended) = (
            seen[number, "self_attn_layer_norm"],
            seen[number, "encoder_attn"],
        )
        norm_input, normed = seen[number, "encoder_attn_layer_norm"]
        own = x + seen[number, "self_attn"][1] if norm else after_norm  # ĥ
        matrices = layer.fusion.weighted_sum.weight.chunk(2, dim=1)
        states = [extra["auxiliary_features"][i] for i in (1, 2)]
        fused = own + sum(f @ w.t() for f, w in zip(states, matrices, strict=True))
        torch.testing.assert_close(norm_input if norm else query, fused, rtol=1e-5, atol=1e-5)
        if norm:
            assert query is normed
        else:
            torch.testing.assert_close(norm_input, fused + attended, rtol=1e-5, atol=1e-5)


# -- what flags reach -------------------------------------------------------------------------

ENCODER, SOURCE = "encoder.stack.layers.1.self_attn.", "decoder.stack.layers.1.encoder_attn."
DC, CTX, XAGG = (
    {"encoder_self_attention": kind}
    for kind in ("dual_context", "context_aware", "cross_aggregation")
)
# settings → what a module then says of itself
REACHED = [
    ({**DC, "dc_kernel_size": 4}, ENCODER + "local.kernel", 4),
    ({**DC, "dropout": 0.3}, ENCODER + "local.dropout", 0.3),
    ({**DC, "attention_dropout": 0.3}, ENCODER + "dropout", 0.3),
    (CTX, ENCODER + "layer", 2),
    (CTX, ENCODER + "mixed", ("q", "k")),
    (CTX, ENCODER + "has_gate", True),
    ({**CTX, "ctx_on": "queries"}, ENCODER + "mixed", ("q",)),
    ({**CTX, "ctx_on": "keys"}, ENCODER + "mixed", ("k",)),
    ({**CTX, "ctx_gate": "none"}, ENCODER + "has_gate", False),
    *(
        ({**CTX, "ctx_context": context}, ENCODER + levels, expected)
        for context, of_means, of_inputs in (
            ("global", range(1, 2), range(0)),
            ("deep-global", range(2), range(0)),
            ("deep", range(0), range(1)),
            ("deep-global+deep", range(2), range(1)),
        )
        for levels, expected in (("global_levels", of_means), ("deep_levels", of_inputs))
    ),
    ({**CTX, "attention_dropout": 0.3}, ENCODER + "dropout", 0.3),
    (XAGG, ENCODER + "init", "zero"),
    (XAGG, ENCODER + "iterations", 3),
    (XAGG, ENCODER + "head_weights", "mean"),
    (XAGG, ENCODER + "checkpoint", False),
    ({**XAGG, "xagg_init": "self"}, ENCODER + "init", "self"),
    ({**XAGG, "xagg_iterations": 2}, ENCODER + "iterations", 2),
    ({**XAGG, "xagg_head_weights": "sum"}, ENCODER + "head_weights", "sum"),
    ({**XAGG, "xagg_checkpoint": True}, ENCODER + "checkpoint", True),
    ({**XAGG, "attention_dropout": 0.3}, ENCODER + "dropout", 0.3),
    *(
        ({**XAGG, "xagg_routing": routing}, ENCODER + direction, direction in on)
        for routing, on in (
            ("both", ("horizontal", "vertical")),
            ("horizontal", ("horizontal",)),
            ("vertical", ("vertical",)),
        )
        for direction in ("horizontal", "vertical")
    ),
    # M-Ū0Ū1: Ū0 = 0 has joint weights, Ū1 = 1 sums contexts
    *(
        ({"source_features": f"m-{first}{second}"}, SOURCE + attribute, expected)
        for first in (0, 1)
        for second in (0, 1)
        for attribute, expected in (
            ("joint_weights", first == 0),
            ("sum_contexts", second == 1),
            ("num_layers", 3),
        )
    ),
    ({"source_features": "m-10", "source_layers": 2}, SOURCE + "num_layers", 2),
    ({"source_features": "m-10", "attention_dropout": 0.3}, SOURCE + "dropout", 0.3),
    ({"attention_dropout": 0.3}, SOURCE + "dropout", 0.3),
    ({"source_features": "c-agg"}, "encoder.aggregation.unit.fc1.out_features", 20),
    ({"source_features": "c-agg", "dropout": 0.3}, "encoder.aggregation.unit.dropout", 0.3),
    ({"source_features": "s-agg"}, "encoder.aggregation.unit.weight.shape", (12, 36)),
    ({"aux_layers": "1", "aux_weight": 0.3}, "aux_weight", 0.3),
]


@pytest.mark.parametrize(("settings", "place", "expected"), REACHED)
def test_a_flag_reaches_its_module(settings, place, expected):
    assert operator.attrgetter(place)(build("transformer_standard", **settings)) == expected


def test_what_aggregates_is_what_its_name_says():
    kinds = {
        "s-agg": (LinearAggregation, WeightedSum),
        "iter-s-agg": (IterativeAggregation, WeightedSum),
        "c-agg": (LinearAggregation, AggregationUnit),
        "iter-c-agg": (IterativeAggregation, AggregationUnit),
    }
    for name, (kind, unit) in kinds.items():
        aggregation = build("transformer_standard", source_features=name).encoder.aggregation
        units = aggregation.units if kind is IterativeAggregation else [aggregation.unit]
        assert type(aggregation) is kind and {type(each) for each in units} == {unit}


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, [1, 2, 3]), ("1", [1]), ("2-3", [2, 3])],
)
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_range_of_layers_has_the_kind(side, text, expected):
    for name in SELF_ATTENTIONS if side == "encoder" else decoder_kinds():
        net = build(
            "transformer_standard",
            decoder_layers=3,
            aux_layers="1",
            **{f"{side}_self_attention": name, f"{side}_self_attention_layers": text},
        )
        stacks = [net.encoder.stack] if side == "encoder" else [net.decoder.stack]
        stacks += net.decoder.auxiliary.values() if side == "decoder" else []
        other = net.decoder.stack if side == "encoder" else net.encoder.stack
        wanted = SELF_ATTENTIONS[name].class_
        standard = SELF_ATTENTIONS["standard"].class_
        for stack in stacks:
            kinds = [type(layer.self_attn) for layer in stack.layers]
            assert kinds == [wanted if n in expected else standard for n in (1, 2, 3)]
        assert {type(layer.self_attn) for layer in other.layers} == {standard}
