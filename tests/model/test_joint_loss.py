"""The joint loss: embeddings and output projection are shared, and no logits are stored whole."""

import pytest
import torch
from helpers import build, perturb, sample, sentences, task

from dc_nmt_plugin.criterions.joint_loss import JointLossCriterion
from dc_nmt_plugin.modules.fast import chunked_loss

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
    losses = [(1.0, features), *((GAMMA, states) for states in extra["auxiliary"].values())]
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


def test_no_decoders_logits_are_kept_for_the_backward_pass(monkeypatch):
    """With 13 target positions in chunks of 4, nothing of vocabulary size is ever whole."""
    words, rows = 996, 4
    model = perturb(build("transformer_ms_aux_aif", words, aux_layers="1,2")).train()
    vocabulary = model.decoder.output_projection.weight.size(0)
    monkeypatch.setattr(chunked_loss, "rows_of_chunk", lambda device, vocabulary: rows)
    kept = []

    def keep(tensor):
        kept.append(tuple(tensor.shape))
        return tensor

    with Shapes() as made, torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss, _, _ = JointLossCriterion(task(words), False, 0.1)(model, batch(words))
    loss.backward()
    width = model.decoder.output_projection.weight.size(1)
    assert (vocabulary, width) in kept  # the gradient of the projection, once a decoder
    assert not [shape for shape in kept if vocabulary in shape and shape != (vocabulary, width)]
    logits = {
        shape
        for shape in made.shapes
        if len(shape) > 1 and shape[-1] == vocabulary and shape != (width, vocabulary)
    }
    assert logits == {(rows, vocabulary), (13 % rows, vocabulary)}


class Shapes(torch.utils._python_dispatch.TorchDispatchMode):
    """Notes the shape of every result of every operation."""

    def __enter__(self):
        self.shapes = []
        return super().__enter__()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.shapes.append(tuple(tensor.shape))
        return result
