"""Auxiliary decoders: the joint loss, decoding by any of them, export without them."""

import argparse

import pytest
import torch
from fairseq.models import ARCH_CONFIG_REGISTRY
from fairseq.models.transformer import TransformerConfig, TransformerModel, base_architecture
from fairseq.sequence_generator import SequenceGenerator
from helpers import TINY, build, perturb, sample, sentences, task

from dc_nmt_plugin.criterions.joint_loss import JointLossCriterion
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.models.transformer.stock import drop_auxiliary, to_stock


def batch():
    return sample(sentences([7, 3, 5]), sentences([4, 6, 2], seed=5))


def criterion(**options):
    return JointLossCriterion(task(), False, 0.1, **options)


def plain_like(model, **settings):
    """A plain Transformer with the main decoder's weights."""
    plain = build("transformer_standard", **settings)
    plain.load_state_dict(
        {
            k: v
            for k, v in model.state_dict().items()
            if not k.startswith(("decoder.auxiliary", "encoder.tap_norms"))
        }
    )
    return plain


@pytest.mark.parametrize("pre_norm", [False, True])
def test_gamma_zero_trains_the_main_decoder_bit_for_bit_like_the_baseline(pre_norm):
    settings = {"dropout": 0.2, "attention_dropout": 0.1, "share_all_embeddings": False}
    settings |= {f"{side}_normalize_before": pre_norm for side in ("encoder", "decoder")}
    joint = build("transformer_ms_aux", aux_layers="1,2", aux_weight=0.0, **settings)
    plain = plain_like(joint, **settings)
    updated = []
    for model in (joint, plain):
        model.train()
        torch.manual_seed(4)
        trained = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.Adam(trained, lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            criterion()(model, batch())[0].backward()
            assert all(p.grad is not None for p in trained)
            optimizer.step()
        updated.append(dict(model.named_parameters()))
    assert all(torch.equal(updated[0][name], value) for name, value in updated[1].items())


def test_the_ind_decoder_is_fusion_with_zero_weights():
    model = perturb(build("transformer_ms_aux_aif", share_all_embeddings=True))
    plain = build("transformer_standard", share_all_embeddings=True)
    kept = set(plain.state_dict())
    plain.load_state_dict({k: v for k, v in model.state_dict().items() if k in kept})
    net_input = batch()["net_input"]
    model.decoder.fuse = False
    assert torch.allclose(model(**net_input)[0], plain(**net_input)[0], atol=1e-6)
    model.decoder.fuse = True
    assert not torch.allclose(model(**net_input)[0], plain(**net_input)[0], atol=1e-3)


@pytest.mark.parametrize("arch", ["transformer_ms_aux", "transformer_ms_aux_aif"])
def test_any_decoder_decodes_incrementally(arch):
    model = perturb(build(arch, aux_layers="1,2"))
    net_input = batch()["net_input"]
    _, extra = model(**net_input, features_only=True, with_auxiliary=True)
    for layer, features in extra["auxiliary_features"].items():
        model.decoder.decode_with = layer
        assert torch.allclose(model(**net_input, features_only=True)[0], features, atol=1e-6)
        source, state = model.encoder(net_input["src_tokens"]), {}
        prefix = net_input["prev_output_tokens"]
        for step in range(1, prefix.size(1) + 1):
            last, _ = model.decoder(
                prefix[:, :step], source, incremental_state=state, features_only=True
            )
            real = prefix[:, step - 1].ne(1)
            assert torch.allclose(last[real, -1], features[real, step - 1], atol=1e-5)


def checkpoint(arch, **settings):
    model = perturb(build(arch, share_all_embeddings=True, **settings))
    flags = argparse.Namespace(arch=arch, _name=arch, **{**TINY, **settings})
    flags.share_all_embeddings = True
    ARCH_CONFIG_REGISTRY[arch](flags)
    state = {
        "model": model.state_dict(),
        "cfg": {"model": flags, "task": {"_name": "transformer_ms_aux", "decode_with": "main"}},
        "last_optimizer_state": {"state": {}},
    }
    return model, state


def translations(model):
    torch.manual_seed(1)
    generator = SequenceGenerator([model], task().target_dictionary, beam_size=3, max_len_b=12)
    generated = generator.generate([model], batch())
    return [[h["tokens"].tolist() for h in hypotheses] for hypotheses in generated]


@pytest.mark.parametrize("pre_norm", [False, True])
def test_export_translates_alike_with_the_baselines_parameters(pre_norm):
    norm = {"encoder_normalize_before": pre_norm, "decoder_normalize_before": pre_norm}
    model, state = checkpoint("transformer_ms_aux", aux_layers="1,2", **norm)
    exported = drop_auxiliary(state, "file")
    flags = exported["cfg"]["model"]
    settings = {k: v for k, v in vars(flags).items() if k not in ("arch", "_name")}
    plain = build("transformer_standard", **settings)
    plain.load_state_dict(exported["model"])
    assert translations(plain) == translations(model)
    baseline = build("transformer_standard", share_all_embeddings=True, **norm)
    assert sum(p.numel() for p in plain.parameters()) == sum(
        p.numel() for p in baseline.parameters()
    )
    assert exported["last_optimizer_state"] is None

    stock_state = to_stock(exported, "file")
    assert stock_state["cfg"]["task"] == {"_name": "translation"}
    args = argparse.Namespace(**vars(flags))
    base_architecture(args)
    stock = TransformerModel.build_model(TransformerConfig.from_namespace(args), task()).eval()
    stock.load_state_dict(stock_state["model"])
    assert translations(stock) == translations(model)


def test_what_the_main_decoder_reads_is_trained_at_gamma_zero():
    settings = {"encoder_normalize_before": True, "aux_weight": 0.0, "aux_layers": "1"}
    model = build("transformer_ms_aux", source_features="m-10", source_layers=2, **settings)
    norms = model.encoder.tap_norms
    trained = {name: norm.weight.requires_grad for name, norm in norms.items()}
    assert trained == {"1": False, "2": True}


def test_export_refuses_what_it_cannot_do():
    _, state = checkpoint("transformer_ms_aux_aif")
    with pytest.raises(UserError, match="--aux-fusion"):
        drop_auxiliary(state, "file")
    _, state = checkpoint("transformer_dc")
    with pytest.raises(UserError, match="this one has dual_context layers in the encoder"):
        to_stock(drop_auxiliary(state, "file"), "file")
    _, state = checkpoint("transformer_standard", base="modern")
    with pytest.raises(UserError, match=r"--norm rms_norm, --activation-fn swiglu, --pos.* rotary"):
        to_stock(drop_auxiliary(state, "file"), "file")
    with pytest.raises(UserError, match="no checkpoint of a Transformer"):
        drop_auxiliary({"model": {}, "cfg": {"model": argparse.Namespace()}}, "file")
