"""Every preset builds and parses; published parameter counts are met; wrong settings are named."""

import argparse

import pytest
import yaml
from commands import ROOT
from fairseq import options
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks import TASK_REGISTRY
from helpers import build, few, sample, sentences, task

from dc_nmt_plugin.errors import ConfigError
from dc_nmt_plugin.flags import PUBLISHED
from dc_nmt_plugin.laboratory.parameter_count import build_without_memory, count
from dc_nmt_plugin.models.options import read_config
from dc_nmt_plugin.models.presets import FAMILIES, SIZES, architectures
from dc_nmt_plugin.models.transformer.config import TransformerConfig
from dc_nmt_plugin.models.transformer.model import TransformerModel
from dc_nmt_plugin.study.papers.parameters import published_items, published_rows

ITEMS = dict(published_items())
PAPERS = yaml.safe_load((ROOT / "tests/data/presets.yaml").read_text("utf-8"))


@pytest.mark.parametrize("place", ITEMS)
def test_published_parameter_counts(place):
    rows = published_rows(place, ITEMS[place])
    assert [row.name for row in rows if not row.within] == []
    limit = 0.0015 if place.startswith("dual") else 0.0022 if place.startswith("context") else 0.011
    assert all(abs(row.difference) <= limit for row in rows)


def test_dual_context_counts_by_hand():
    # d=512: W^r and b^r, norm, six projections and W_z in place of four projections, 6 layers
    d = 512
    place = "dual-context, Table 1"
    rows = {row.name: row.built for row in published_rows(place, ITEMS[place])}
    local = 2 * d * 2 * d + 2 * d + 2 * d
    extra = 6 * (local + 6 * (d * d + d) + 2 * d * d + d - 4 * (d * d + d))
    assert rows["Enc-DC"] - rows["Transformer"] == pytest.approx(extra / 1e6, abs=2e-3)


def test_the_meta_count_is_the_real_models():
    real = build("transformer_dc_micro", words=30, **SIZES["micro"])
    on_meta = build_without_memory("transformer_dc_micro", {}, task(30).source_dictionary)
    names = {name for name, _ in real.named_parameters()}
    assert names == {name for name, _ in on_meta.named_parameters()}
    assert count(real) == count(on_meta)


# names of sizes differ in widths, which are tested below
UNSIZED = [name for name in architectures() if not name.endswith(tuple(f"_{s}" for s in SIZES))]


@pytest.mark.parametrize("name", few(architectures(), *UNSIZED, *PAPERS))
def test_every_architecture_parses_and_is_the_papers(name, tmp_path):
    architecture = architectures()[name]
    assert name in ARCH_MODEL_REGISTRY
    assert architecture.family.criterion in CRITERION_REGISTRY
    assert architecture.family.task in TASK_REGISTRY
    flags = ["--arch", name, "--criterion", architecture.family.criterion]
    flags += ["--task", architecture.family.task, str(tmp_path)]
    args = options.parse_args_and_arch(options.get_training_parser(), flags)
    config = read_config(args, architecture.config)
    for key, value in {**architecture.settings, **PAPERS.get(name, {})}.items():
        assert getattr(config, key) == value
    config.check()


def test_flags_win_over_presets(tmp_path):
    flags = ["--arch", "transformer_dc_tiny", "--encoder-layers", "3", str(tmp_path)]
    flags += ["--encoder-self-attention", "standard", "--dropout", "0"]
    args = options.parse_args_and_arch(options.get_training_parser(), flags)
    cfg = read_config(args, TransformerConfig)
    assert (cfg.encoder_layers, cfg.encoder_self_attention, cfg.dropout) == (3, "standard", 0.0)
    assert (cfg.decoder_layers, cfg.encoder_embed_dim) == (4, 128)


WRONG = {
    "--encoder-self-attention-layers": {"encoder_self_attention_layers": "2-9"},
    "--dc-kernel-size": {"dc_kernel_size": 0},
    "--encoder-layers": {"encoder_layers": "six"},  # in a checkpoint that somebody changed
    "--encoder-self-attention": {"encoder_self_attention": "dual_contex"},
    "--decoder-self-attention": {"decoder_self_attention": "cross_aggregation"},
    "--encoder-attention-heads": {"encoder_attention_heads": 5},
    "--dropout": {"dropout": 1.0},
    "--share-all-embeddings": {"share_all_embeddings": True, "decoder_embed_dim": 18},
    "--xagg-init": {
        "encoder_self_attention": "cross_aggregation",
        "xagg_init": "self",
        "xagg_routing": "vertical",
    },
    "--source-features": {"source_features": "m-2"},
    "--source-layers": {"source_layers": 4, "source_features": "m-00"},
    "--aux-weight": {"aux_weight": -1.0},
}


@pytest.mark.parametrize("flag", WRONG)
def test_wrong_settings_are_named(flag):
    with pytest.raises(ConfigError) as caught:
        build("transformer_standard", **WRONG[flag])
    value = WRONG[flag][flag.removeprefix("--").replace("-", "_")]
    assert flag in str(caught.value)
    if flag != "--share-all-embeddings":
        assert str(value) in str(caught.value)


def test_several_problems_come_at_once():
    with pytest.raises(ConfigError) as caught:
        build("transformer_standard", dc_kernel_size=0, source_features="m-2", dropout=3.0)
    assert len(caught.value.problems) == 3


def test_stock_criterion_with_auxiliary_decoders_is_refused():
    with pytest.raises(ConfigError, match="--criterion transformer_ms_aux"):
        build("transformer_ms_aux", criterion="label_smoothed_cross_entropy")
    model = build("transformer_ms_aux").train()
    with pytest.raises(ConfigError, match="--criterion transformer_ms_aux"):
        model(**sample(sentences([3]), sentences([2]))["net_input"])


def test_sharing_needs_a_joint_dictionary():
    other = argparse.Namespace(
        source_dictionary=task(5).source_dictionary, target_dictionary=task(6).target_dictionary
    )
    args = argparse.Namespace(share_all_embeddings=True)
    with pytest.raises(ConfigError, match="--joined-dictionary"):
        TransformerModel.build_model(args, other)


def test_published_names_are_those_of_the_families():
    """Criterions and tasks are registered under them."""
    own = {family.task for family in FAMILIES if family.task == family.name}
    assert own == set(PUBLISHED)
