"""What a validation logs: found in what a model is made of, whatever its architecture is called."""

import pytest
import torch
from fairseq.criterions import CRITERION_REGISTRY
from helpers import build, perturb, sample, sentences, task
from recurrent import build as build_recurrent

from dc_nmt_plugin.criterions.joint_loss import JointLossCriterion
from dc_nmt_plugin.flags import PUBLISHED
from dc_nmt_plugin.modules import diagnostics
from dc_nmt_plugin.modules.core import self_attention
from dc_nmt_plugin.modules.core.recording import recording
from dc_nmt_plugin.modules.diagnostics import attention_divergence
from dc_nmt_plugin.modules.mechanisms import SELF_ATTENTIONS

EVERYTHING = {
    "encoder_self_attention": "dual_context",
    "decoder_self_attention": "context_aware",
    "source_features": "m-00",
    "source_layers": 2,
    "aux_layers": "1,2",
}


def batch():
    return sample(sentences([7, 3, 5]), sentences([4, 6, 2], seed=5))


def logged(model, criterion=None, sample=None):
    """Names of what is logged beside loss and nll."""
    criterion = criterion or JointLossCriterion(task(), False, 0.1)
    with torch.no_grad():
        _, _, log = criterion(model, sample or batch())
    return log


def names(log):
    return {key[1:-4] for key in log if key.startswith("_") and key.endswith("_sum")}


def test_every_part_of_a_model_is_logged():
    log = logged(perturb(build("transformer_ms_aux", **EVERYTHING)))
    assert names(log) == {
        *("dv_encoder", *(f"dv_encoder_{layer}" for layer in (1, 2, 3))),
        *(f"lambda_{x}_decoder{layer}" for x in "qk" for layer in ("", "_1", "_2")),
    }
    assert {"main_loss", "aux1_loss", "aux2_loss", "n_correct", "aux2_n_correct"} <= set(log)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_name_is_the_same_criterion(name):
    model = perturb(build("transformer_ms_aux", **EVERYTHING))
    registered, ours = logged(model, CRITERION_REGISTRY[name](task(), False, 0.1)), logged(model)
    assert registered.keys() == ours.keys()
    assert all(float(registered[key]) == float(ours[key]) for key in ours)


def test_class_names_stay_because_a_resumption_compares_them():
    classes = {name: CRITERION_REGISTRY[name].__name__ for name in PUBLISHED}
    assert classes == {
        "transformer_dc": "TransformerDCCriterion",
        "transformer_ctxaware": "TransformerContextAwareCriterion",
        "transformer_cross_agg": "TransformerCrossAggregationCriterion",
        "transformer_mlmha": "TransformerMultiLayerCriterion",
        "transformer_ms_aux": "TransformerMultiLevelSupervisionCriterion",
        "gru_selfattn_residual": "SelfAttentiveResidualCriterion",
    }


def test_recurrent_models_and_language_models_too():
    # the memory is recorded by a loop over steps, after its own forward pass
    for kind, readout in (("gru", "content"), ("gru", "memory-rnn"), ("lm", "content")):
        model = build_recurrent(kind, readout).eval()
        rows = batch()
        if kind == "lm":
            prefix = rows["net_input"].pop("prev_output_tokens")
            rows["net_input"].update(src_tokens=prefix, src_lengths=None)
        assert names(logged(model, sample=rows)) == {"previous_entropy", "previous_last"}


def test_numbers_are_those_of_a_recording():
    model, rows = perturb(build("transformer_dc")), batch()
    log = logged(model)
    with torch.no_grad(), recording(model) as records:
        model(**rows["net_input"])
    tensors = records["encoder.stack.layers.1.self_attn"]
    total, count = attention_divergence(
        tensors["global_weights"],
        tensors["local_weights"],
        rows["net_input"]["src_tokens"].eq(1),
    )
    assert float(log["_dv_encoder_2_sum"]) == pytest.approx(float(total))
    assert int(log["_dv_encoder_2_count"]) == int(count) == 15


def test_not_in_training_and_not_against_the_users_will():
    model = build("transformer_dc")
    assert not names(logged(model.train()))
    assert not names(
        logged(model.eval(), JointLossCriterion(task(), False, 0.1, no_diagnostics=True))
    )


def test_attention_that_no_diagnostic_reads_stays_fused(monkeypatch):
    """Its weights are not wanted, so no softmax is computed for them."""
    explicit = []
    logits = self_attention.attention_logits

    def counted(*args):
        explicit.append(args)
        return logits(*args)

    monkeypatch.setattr(self_attention, "attention_logits", counted)
    logged(build("transformer_dc"))  # encoder: 3 layers of two attentions; decoder: none
    assert len(explicit) == 6
    assert not any(name == "weights" for name in diagnostics.NEEDED)


@pytest.mark.parametrize("kind", SELF_ATTENTIONS)
def test_every_kind_can_record_its_weights(kind):
    model = build("transformer_standard", encoder_self_attention=kind)
    with recording(model) as records:
        model(**batch()["net_input"])
    tensors = records["encoder.stack.layers.0.self_attn"]
    weights = [tensor for name, tensor in tensors.items() if name.endswith("weights")]
    square = [tensor for tensor in weights if tensor.shape == (3, 2, 7, 7)]
    assert square
    for tensor in square:
        assert torch.allclose(tensor.sum(-1), torch.ones(3, 2, 7), atol=1e-5)
