"""A new model starts where fairseq's starts; what the papers add starts no louder."""

from __future__ import annotations

import argparse
import functools
import math
import operator
import re
from typing import Any

import pytest
import torch
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from helpers import few, task
from scipy.stats import ks_2samp
from torch import Tensor, nn

from dc_nmt_plugin.models.transformer.stock import plugin_to_stock, stock_to_plugin
from dc_nmt_plugin.modules.core.flow import Flow
from dc_nmt_plugin.modules.core.masks import SequenceMask
from dc_nmt_plugin.modules.core.source import Source

SEEDS = 12
SIZES: dict[str, Any] = {
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_embed_dim": 40,
    "decoder_embed_dim": 40,
    "encoder_ffn_embed_dim": 96,
    "decoder_ffn_embed_dim": 56,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "share_all_embeddings": False,
    "max_source_positions": 64,
    "max_target_positions": 64,
}
FLAGS: dict[str, dict[str, Any]] = {
    "post-norm, nothing shared": {},
    "pre-norm": {"encoder_normalize_before": True, "decoder_normalize_before": True},
    "all embeddings shared": {"share_all_embeddings": True},
    "target embeddings shared": {"share_decoder_input_output_embed": True},
    "learned positions": {"encoder_learned_pos": True, "decoder_learned_pos": True},
    "another width of the encoder": {"encoder_embed_dim": 56},
    "norm of embeddings": {"layernorm_embedding": True},
}


def new(arch: str, seed: int, **settings: Any) -> nn.Module:
    torch.manual_seed(seed)
    args = argparse.Namespace(arch=arch, **{**SIZES, **settings})
    ARCH_CONFIG_REGISTRY[arch](args)
    return ARCH_MODEL_REGISTRY[arch].build_model(args, task())


def samples(arch: str, first_seed: int, **settings: Any) -> dict[str, Tensor]:
    """Parameter of fairseq's name → its initial values in `SEEDS` models, one row a model."""
    states = []
    for seed in range(first_seed, first_seed + SEEDS):
        state = dict(new(arch, seed, **settings).state_dict())
        if arch == "transformer":
            stock_to_plugin(state)  # drops what only fairseq keeps there
        states.append(plugin_to_stock(state))
    return {name: torch.stack([state[name].flatten() for state in states]) for name in states[0]}


@pytest.mark.parametrize("name", few(FLAGS, *list(FLAGS)[::3]))
def test_the_standard_model_starts_from_fairseqs_distribution(name: str):
    flags = FLAGS[name]
    stock = samples("transformer", 1, **flags)
    house = samples("transformer_standard", 1001, **flags)
    assert set(house) == set(stock)
    different = []
    for name, expected in stock.items():
        ours = house[name]
        assert ours.shape == expected.shape, name
        if float(expected.std()) == 0:
            same = bool(ours.eq(expected[0, 0]).all())
        else:
            rms = float(ours.square().mean().sqrt() / expected.square().mean().sqrt())
            same = (
                abs(rms - 1) < 0.12
                and ks_2samp(ours.flatten().numpy(), expected.flatten().numpy()).pvalue > 1e-5
            )
        if not same:
            different.append(name)
    assert not different


# -- what the papers add ---------------------------------------------------------------------

BATCH, LENGTH, WIDTH = 16, 20, 64


def loudness(build: Any) -> float:
    """Mean square of the outputs of freshly built sublayers over seeds."""
    total = 0.0
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        total += float(build().double().square().mean())
    return total / SEEDS


@functools.cache
def standard_self_attention(side: str) -> float:
    """How loud it is: what several kinds are compared with."""
    return loudness(lambda: self_attention_output(side))


@functools.cache
def standard_source_attention() -> float:
    """As :func:`standard_self_attention`."""
    return loudness(source_attention_output)


def layer_input() -> Tensor:
    """Normalised states with something in common, as a layer norm leaves them."""
    x = torch.randn(BATCH, LENGTH, WIDTH) + torch.randn(BATCH, 1, WIDTH)
    return nn.functional.layer_norm(x, (WIDTH,))


def self_attention_output(side: str, **settings: Any) -> Tensor:
    model = new("transformer_standard", int(torch.initial_seed()) % 2**31, **_wide(settings))
    stack = model.eval().get_submodule(side).stack
    mask = SequenceMask.build(None, causal=side == "decoder")
    flow = Flow(mask)
    flow.inputs = [layer_input() for _ in range(2)]  # the second layer has every context
    with torch.no_grad():
        return stack.layers[1].self_attn(flow.inputs[-1], flow)


def source_attention_output(**settings: Any) -> Tensor:
    model = new("transformer_standard", int(torch.initial_seed()) % 2**31, **_wide(settings))
    model.eval()
    features = [layer_input() for _ in range(4 if "source_features" in settings else 1)]
    with torch.no_grad():
        if model.encoder.aggregation is not None:
            features = [model.encoder.aggregation(features)]
        source = Source(features=features, padding=None)
        return model.decoder.stack.layers[0].encoder_attn(layer_input(), Flow(source=source))


def _wide(settings: dict[str, Any]) -> dict[str, Any]:
    widths = {f"{side}_embed_dim": WIDTH for side in ("encoder", "decoder")}
    heads = {f"{side}_attention_heads": 4 for side in ("encoder", "decoder")}
    return {**widths, **heads, "encoder_layers": 4, **settings}


@pytest.mark.parametrize(
    ("side", "kind"),
    [
        ("encoder", "dual_context"),
        ("encoder", "context_aware"),
        ("encoder", "cross_aggregation"),
        ("decoder", "dual_context"),
        ("decoder", "context_aware"),
    ],
)
def test_another_self_attention_starts_no_louder(side: str, kind: str):
    other = loudness(lambda: self_attention_output(side, **{f"{side}_self_attention": kind}))
    # dual context drowns the residual connection otherwise; yet no mechanism starts switched off
    quiet, loud = (0.05, 0.13) if kind == "dual_context" else (0.4, 1.05)
    assert quiet < other / standard_self_attention(side) < loud


XAVIER = math.sqrt(6 / (2 * WIDTH))  # of a matrix C × C
SELF, SOURCE = "encoder.stack.layers.1.self_attn.", "decoder.stack.layers.0.encoder_attn."
DC, CTX = ({"encoder_self_attention": kind} for kind in ("dual_context", "context_aware"))
# settings → a matrix that the papers add, and the bounds of its uniform distribution
BOUNDS: list[tuple[dict[str, Any], str, float]] = [
    (DC, SELF + "in_proj.weight", XAVIER / math.sqrt(2)),
    (DC, SELF + "local_proj.weight", XAVIER / math.sqrt(2)),
    (DC, SELF + "out_proj.matrix", 0.3 * math.sqrt(3 / (2 * WIDTH))),
    (DC, SELF + "out_proj.scale", 1 / 2),
    # two means and the inputs of the layer below are three blocks
    (CTX, SELF + "context_proj.matrix", math.sqrt(0.5 * 6 / (4 * WIDTH))),
    (CTX, SELF + "context_proj.scale", 1 / 3),
    (CTX, SELF + "gate_input", math.sqrt(6 / (WIDTH + 1))),
    (CTX, SELF + "gate_context", math.sqrt(6 / (WIDTH + 1))),
    ({"source_features": "m-10"}, SOURCE + "q_proj.weight", XAVIER / math.sqrt(2)),
    ({"source_features": "m-10"}, SOURCE + "out_proj.weight", math.sqrt(3 / (4 * WIDTH))),
    ({"source_features": "m-11"}, SOURCE + "out_proj.weight", math.sqrt(3 / (4 * WIDTH))),
    ({"source_features": "m-10", "encoder_embed_dim": 32}, SOURCE + "q_proj.weight", XAVIER),
    ({"encoder_embed_dim": 32}, SOURCE + "q_proj.weight", XAVIER),
    ({"source_features": "s-agg"}, "encoder.aggregation.unit.weight", 1 / math.sqrt(4 * WIDTH)),
]


@pytest.mark.parametrize(("settings", "place", "bound"), BOUNDS)
def test_what_is_added_starts_within_its_bounds(settings: Any, place: str, bound: float):
    matrix = operator.attrgetter(place)(new("transformer_standard", 1, **_wide(settings)))
    assert 0.95 * bound < float(matrix.detach().abs().max()) <= bound + 1e-6


@pytest.mark.parametrize(
    "features",
    ["s-agg", "iter-s-agg", "c-agg", "iter-c-agg", "m-00", "m-01", "m-10", "m-11"],
)
def test_reading_several_encoder_layers_starts_no_louder(features: str):
    other = loudness(lambda: source_attention_output(source_features=features))
    assert 0.05 < other / standard_source_attention() < 1.05


def test_fused_states_start_well_below_the_residual_connection():
    def fused() -> Tensor:
        model = new("transformer_standard", int(torch.initial_seed()) % 2**31, **_wide(settings))
        x = torch.zeros(BATCH, LENGTH, WIDTH)
        with torch.no_grad():
            return model.decoder.stack.layers[0].fusion(x, [layer_input() for _ in range(3)])

    settings = {"aux_layers": "1,2,3", "aux_fusion": True}
    assert 0.05 < loudness(fused) / loudness(layer_input) < 0.5


@pytest.mark.parametrize("arch", ["transformer_standard", "transformer_dc", "transformer_ms_aux"])
def test_depth_scaled_weights(arch: str):
    """Every matrix of layer l at α / √l of its size, and nothing else changed."""
    aux = {"aux_layers": "1"} if arch == "transformer_ms_aux" else {}
    plain = dict(new(arch, 3, **aux).named_parameters())
    scaled = dict(new(arch, 3, depth_scaled_init=0.5, **aux).named_parameters())
    for name, parameter in scaled.items():
        match = re.search(r"\.layers\.(\d+)\.", name)
        factor = 0.5 / math.sqrt(int(match[1]) + 1) if match and parameter.dim() == 2 else 1.0
        assert torch.allclose(parameter, factor * plain[name], rtol=1e-6), name
