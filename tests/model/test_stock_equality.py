"""Standard settings are fairseq's own transformer on the same weights; so is the joint loss."""

import argparse

import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.logging import metrics
from fairseq.models.transformer import TransformerConfig, TransformerModel, base_architecture
from helpers import TINY, build, perturb, sample, sentences, task

from dc_nmt_plugin.criterions.joint_loss import JointLossCriterion
from dc_nmt_plugin.models.transformer.stock import plugin_to_stock

# fairseq computes softmax and log-softmax in float32 whatever the weights' precision
CLOSE = {"atol": 2e-6, "rtol": 1e-5}

SETTINGS = {
    "post-norm": {},
    "pre-norm": {"encoder_normalize_before": True, "decoder_normalize_before": True},
    "shared": {"share_all_embeddings": True},
    "learned positions, norm on embeddings, unscaled, gelu": {
        "encoder_learned_pos": True,
        "decoder_learned_pos": True,
        "layernorm_embedding": True,
        "no_scale_embedding": True,
        "activation_fn": "gelu",
        "share_decoder_input_output_embed": True,
    },
    "two widths": {"decoder_embed_dim": 18, "decoder_ffn_embed_dim": 14},
}


def build_stock(**settings):
    args = argparse.Namespace(**{**TINY, **settings})
    base_architecture(args)
    cfg = TransformerConfig.from_namespace(args)
    return perturb(TransformerModel.build_model(args, task())).eval(), cfg


def both(name, **more):
    settings = {**SETTINGS[name], **more}
    stock, _ = build_stock(**settings)
    house = build("transformer_standard", **{"share_all_embeddings": False, **settings})
    house.load_state_dict(stock.state_dict())
    return stock.double(), house.double()


def batch():
    source, target = sentences([7, 3, 5]), sentences([4, 6, 2], seed=5)
    return sample(source, target)


@pytest.mark.parametrize("name", SETTINGS)
def test_logits_equal_on_left_padded_batches(name):
    stock, house = both(name)
    net_input = batch()["net_input"]
    expected, _ = stock(**net_input)
    ours, _ = house(**net_input)
    real = net_input["prev_output_tokens"].ne(1)
    assert torch.allclose(ours[real], expected[real], **CLOSE)


@pytest.mark.parametrize("name", ["post-norm", "pre-norm"])
def test_gradients_equal(name):
    stock, house = both(name)
    criterion = stock_criterion()
    losses = []
    for model in (stock, house):
        loss, _, _ = criterion(model, batch())
        loss.backward()
        losses.append(loss)
    assert float(losses[0]) == pytest.approx(float(losses[1]), rel=1e-6)
    expected = {n: p.grad for n, p in stock.named_parameters()}
    ours = plugin_to_stock({n: p.grad for n, p in house.named_parameters()})
    assert set(ours) == {*expected, "encoder.version", "decoder.version"}
    for key, gradient in expected.items():
        assert torch.allclose(ours[key], gradient, **CLOSE), key


def stock_criterion(sentence_avg=False):
    return LabelSmoothedCrossEntropyCriterion(
        argparse.Namespace(target_dictionary=task().target_dictionary), sentence_avg, 0.1, 0, True
    )


def joint_criterion(**options):
    options = {"sentence_avg": False, "label_smoothing": 0.1, "report_accuracy": True, **options}
    return JointLossCriterion(
        argparse.Namespace(target_dictionary=task().target_dictionary), **options
    )


@pytest.mark.parametrize("left_target", [False, True])
@pytest.mark.parametrize("skip", [0, 1])
def test_joint_loss_is_the_label_smoothed_cross_entropy(left_target, skip):
    house = perturb(build("transformer_dc")).double()
    inputs = sample(sentences([7, 3, 5]), sentences([4, 6, 2], seed=5), left_target=left_target)
    stock = stock_criterion()
    stock.ignore_prefix_size = skip
    gradients = []
    for criterion in (stock, joint_criterion(ignore_prefix_size=skip)):
        house.zero_grad()
        loss, size, log = criterion(house, inputs)
        loss.backward()
        numbers = [float(log[key]) for key in ("loss", "nll_loss", "n_correct", "total")]
        gradients.append((loss, size, numbers, [p.grad.clone() for p in house.parameters()]))
    (loss_a, size_a, log_a, grad_a), (loss_b, size_b, log_b, grad_b) = gradients
    assert size_a == size_b
    assert float(loss_a) == pytest.approx(float(loss_b), rel=1e-6)
    assert log_a == pytest.approx(log_b, rel=1e-6)
    assert all(torch.allclose(a, b, **CLOSE) for a, b in zip(grad_a, grad_b, strict=True))


def logged(criterion, logs):
    """Returns the logged numbers of a training run on these batches."""
    with metrics.aggregate(new_root=True) as numbers:
        criterion.reduce_metrics(logs)
    return numbers.get_smoothed_values()


@pytest.mark.parametrize("sentence_avg", [False, True])
def test_what_is_logged_is_what_fairseq_logs(sentence_avg):
    """Base-2 logarithms, each number with its own denominator, over batches of several sizes."""
    house = perturb(build("transformer_dc")).double()
    batches = [batch(), sample(sentences([5, 2], seed=8), sentences([9, 3], seed=9))]
    numbers, sizes = [], []
    for criterion in (stock_criterion(sentence_avg), joint_criterion(sentence_avg=sentence_avg)):
        logs = [criterion(house, inputs)[1:] for inputs in batches]
        sizes.append([size for size, _ in logs])
        numbers.append(logged(criterion, [log for _, log in logs]))
    assert sizes[0] == sizes[1] == ([3, 2] if sentence_avg else [12, 12])
    expected, ours = numbers
    assert {"loss", "nll_loss", "ppl", "accuracy"} <= set(expected)
    for key in set(expected) - {"total", "n_correct"}:
        assert ours[key] == pytest.approx(expected[key], rel=1e-6), key


def test_what_is_logged_of_auxiliary_decoders():
    """Each as if it were the only decoder."""
    house = perturb(build("transformer_ms_aux", aux_layers="1,2", aux_weight=0.3)).double()
    criterion = joint_criterion()
    numbers = logged(criterion, [criterion(house, batch())[2]])
    assert numbers["loss"] == pytest.approx(
        numbers["main_loss"] + 0.3 * (numbers["aux1_loss"] + numbers["aux2_loss"]), abs=2e-3
    )
    for layer in (1, 2):
        house.decoder.decode_with = layer
        alone = stock_criterion()(house, batch())[2]
        expected = logged(stock_criterion(), [alone])
        for name in ("loss", "nll_loss", "ppl", "accuracy"):
            assert numbers[f"aux{layer}_{name}"] == pytest.approx(expected[name], rel=1e-6), name


def test_unreduced_loss_is_per_position():
    house = build("transformer_standard").double()
    loss, _, _ = joint_criterion()(house, batch(), reduce=False)
    expected, _, _ = stock_criterion()(house, batch(), reduce=False)
    assert torch.allclose(loss.double(), expected.double(), **CLOSE)
