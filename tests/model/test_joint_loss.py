"""The joint loss: embeddings and output projection are shared."""

import pytest
import torch
from helpers import build, perturb, sample, sentences, task

from dc_nmt_plugin.criterions.joint_loss import JointLossCriterion

GAMMA = 0.3


def batch(words=19):
    rows = [sentences(lengths, seed=5, words=words) for lengths in ([7, 3, 5], [4, 6, 3])]
    return sample(*rows)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("fusion", [False, True])
def test_shared_matrices_get_the_weighted_sum_of_every_decoders_gradient(tied, fusion):
    settings = {"share_all_embeddings": tied, "aux_layers": "1,2", "aux_fusion": fusion}
    model = perturb(build("transformer_ms_aux", aux_weight=GAMMA, **settings)).double()
    decoder = model.decoder
    shared = [decoder.embed_tokens.weight, decoder.output_projection.weight]
    assert (shared[0] is shared[1]) == tied
    criterion = JointLossCriterion(task(), False, 0.1)
    joint = torch.autograd.grad(criterion(model, batch())[0], shared)

    net_input, target = batch()["net_input"], batch()["target"]
    features, extra = model(**net_input, features_only=True, with_auxiliary=True)
    auxiliary = extra["auxiliary_features"].values()
    losses = [(1.0, features), *((GAMMA, states) for states in auxiliary)]
    total = [torch.zeros_like(weight) for weight in shared]
    for factor, states in losses:
        loss = criterion.decoder_loss(model, states, target).loss
        for sum_, part in zip(
            total, torch.autograd.grad(loss, shared, retain_graph=True), strict=True
        ):
            assert part.abs().sum() > 0
            sum_ += factor * part
    assert len(losses) == 3
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(joint, total, strict=True))


def written_out(features, projection, target, epsilon):
    """(1 - ε - ε_i) nll + ε_i Σ_v -log p_v, one token after the other."""
    weight, bias = projection.weight, projection.bias
    eps_i = epsilon / (len(weight) - 1)
    loss = nll = 0.0
    correct = 0
    for row, token in zip(features, target.tolist(), strict=True):
        logits = [row @ weight[v] + (0 if bias is None else bias[v]) for v in range(len(weight))]
        normaliser = torch.logsumexp(torch.stack(logits), 0)
        log_p = [logit - normaliser for logit in logits]
        nll = nll - log_p[token]
        loss = loss - (1 - epsilon - eps_i) * log_p[token] - eps_i * sum(log_p)
        correct += int(torch.stack(logits).argmax()) == token
    return loss, nll, correct


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_the_loss_of_a_decoder_is_the_formula_at_real_positions(epsilon):
    model = perturb(build("transformer_standard")).double()
    features = model(**batch()["net_input"], features_only=True)[0].detach().requires_grad_()
    target = batch()["target"]
    criterion = JointLossCriterion(task(), False, epsilon, report_accuracy=True)
    loss, nll, correct = criterion.decoder_loss(model, features, target)
    real = target.ne(criterion.padding_idx)
    projection = model.decoder.output_projection
    wanted = written_out(features[real], projection, target[real], epsilon)
    torch.testing.assert_close((loss, nll), wanted[:2], rtol=1e-10, atol=0)
    assert int(correct) == wanted[2]
    both = (features, projection.weight)
    ours, loops = (torch.autograd.grad(each, both) for each in (loss, wanted[0]))
    torch.testing.assert_close(ours, loops, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_softmax_and_sums_are_in_float32(dtype):
    model = perturb(build("transformer_standard"))
    features = model(**batch()["net_input"], features_only=True)[0].detach().to(dtype)
    criterion, target = JointLossCriterion(task(), False, 0.1), batch()["target"]
    low = criterion.decoder_loss(model.to(dtype), features, target).loss
    with torch.no_grad():
        logits = model.decoder.output_layer(features[target.ne(criterion.padding_idx)]).double()
    model.decoder.output_layer = lambda unused: logits
    exact = criterion.decoder_loss(model, features, target).loss
    assert low.dtype == torch.float32 and float(low) == pytest.approx(float(exact), rel=1e-6)
