"""Cross aggregation against the paper's algorithm, and the rules every kind obeys."""

import itertools
import math
from unittest import mock

import pytest
import torch
from reference.cross_aggregation import cross_aggregation, simple_routing
from reference.parameters import batch, projections, randomise

from dc_nmt_plugin.modules.core.flow import Flow
from dc_nmt_plugin.modules.core.masks import SequenceMask
from dc_nmt_plugin.modules.core.recording import Place, Recorded, recording
from dc_nmt_plugin.modules.core.self_attention import SelfAttention
from dc_nmt_plugin.modules.cross_aggregation import CrossAggregationSelfAttention
from dc_nmt_plugin.modules.diagnostics import Batch, head_weight_entropy, routing_totals
from dc_nmt_plugin.modules.routing import route_heads, route_positions, squash

WIDTH, HEADS, LENGTHS = 12, 3, (5, 2, 4)
VARIANTS = [("horizontal", "zero"), ("horizontal", "self"), ("vertical", "zero")]
VARIANTS += [("both", "zero"), ("both", "self")]  # all of Table 1, and vertical alone


def build(**kwargs):
    module = CrossAggregationSelfAttention(embed_dim=WIDTH, num_heads=HEADS, **kwargs)
    return randomise(module)


def recorded(module, x, mask):
    with recording(module) as records:
        output = module(x, Flow(mask))
    return output, records[""]


def reference(module, x, padding, **settings):
    """Outputs of the real positions, sentence after sentence, and Λ a sentence."""
    weights = projections(module)
    if module.vertical:
        weights["W"] = module.head_proj.weight
    outputs, lambdas = [], []
    for b in range(x.size(0)):
        rows = [x[b, t] for t in range(x.size(1)) if not padding[b, t]]
        output, head_weights = cross_aggregation(rows, weights, heads=HEADS, **settings)
        outputs.append(output)
        lambdas.append(head_weights)
    return torch.cat(outputs), lambdas


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("iterations", [1, 2, 3])
@pytest.mark.parametrize("head_weights", ["mean", "sum"])
@pytest.mark.parametrize("routing,init", VARIANTS)
def test_equals_the_paper(routing, init, head_weights, iterations, side):
    settings = {"routing": routing, "init": init, "head_weights": head_weights}
    settings["iterations"] = iterations
    module = build(**settings)
    (x,), padding = batch(1, side)
    mask, real = SequenceMask.build(padding), ~padding
    expected, lambdas = reference(module, x, padding, **settings)
    output, records = recorded(module, x, mask)
    torch.testing.assert_close(output[real], expected, rtol=0, atol=1e-10)
    if module.vertical:
        lambdas = torch.stack([torch.stack(list(row)) for row in lambdas])
        torch.testing.assert_close(records["head_weights"], lambdas, rtol=0, atol=1e-10)

    leaves, upstream = [x, *module.parameters()], torch.randn_like(expected)
    fast, slow = (
        torch.autograd.grad((rows * upstream).sum(), leaves, materialize_grads=True)
        for rows in (module(x, Flow(mask))[real], expected)
    )
    for got, want in zip(fast, slow, strict=True):
        torch.testing.assert_close(got, want, rtol=0, atol=1e-10)
    for parameter, gradient in zip(leaves, fast, strict=True):
        assert gradient.abs().max() > 0, parameter.shape


def test_checkpointed_routing_runs_again_in_the_backward_pass():
    module, ((x,), padding) = build(checkpoint=True), batch(1, "left")
    with mock.patch.object(module, "aggregate", wraps=module.aggregate) as aggregate:
        module(x, Flow(SequenceMask.build(padding))).sum().backward()
    assert aggregate.call_count == 2


@pytest.mark.parametrize("init", ["zero", "self"])
def test_routing_functions_equal_algorithm_1(init):
    torch.manual_seed(1)
    votes = torch.randn(2, 3, 5, 5, dtype=torch.float64) * 3  # far from uniform coefficients
    capsules, _ = route_positions(votes, 4, None, from_votes=init == "self")
    across, _, voting = route_heads(votes, 4)
    for b, t in itertools.product(range(2), range(5)):
        omega, expected = simple_routing([votes[b, h, t] for h in range(3)], 4)
        torch.testing.assert_close(across[b, t], omega, rtol=0, atol=1e-10)
        torch.testing.assert_close(voting[b, :, t, 0], torch.stack(expected), rtol=0, atol=1e-10)
        for h in range(3):
            initial = list(votes[b, h, t, : t + 1]) if init == "self" else None
            omega, _ = simple_routing(list(votes[b, h, : t + 1]), 4, initial)
            torch.testing.assert_close(capsules[b, h, t], omega, rtol=0, atol=1e-10)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("routing", ["horizontal", "vertical", "both"])
def test_no_iterations_is_plain_attention(routing, padded):
    module = build(routing=routing, iterations=0)
    standard = SelfAttention(embed_dim=WIDTH, num_heads=HEADS).double()
    standard.load_state_dict(module.state_dict())  # strict: the very same parameters
    (x,), padding = batch(1, "left")
    mask = SequenceMask.build(padding if padded else None)
    torch.testing.assert_close(module(x, Flow(mask)), standard(x, Flow(mask)), rtol=0, atol=1e-12)
    output, records = recorded(module, x, mask)
    torch.testing.assert_close(output, standard(x, Flow(mask)), rtol=0, atol=1e-12)
    assert set(records) == {"weights"}


@pytest.mark.parametrize("routing,init", VARIANTS)
def test_zero_votes_have_finite_gradients(routing, init):
    module = build(routing=routing, init=init)
    with torch.no_grad():  # queries are zero, hence all logits
        module.in_proj.weight[:WIDTH] = 0
        module.in_proj.bias[:WIDTH] = 0
    (x,), padding = batch(1, "left")
    with torch.autograd.set_detect_anomaly(True):
        module(x, Flow(SequenceMask.build(padding))).square().sum().backward()
    for tensor in (x, *module.parameters()):
        assert torch.isfinite(tensor.grad).all()


def test_squash_at_and_near_zero():
    for dtype, small in ((torch.float32, 1e-19), (torch.float64, 1e-150)):
        s = torch.tensor([[0.0, 0.0], [small, 0.0], [3.0, 4.0]], dtype=dtype, requires_grad=True)
        out = squash(s)
        out.sum().backward()
        assert torch.equal(out[0], torch.zeros(2, dtype=dtype))
        assert torch.isfinite(s.grad).all()
        torch.testing.assert_close(out[2], s[2].detach() * 5 / 26)  # 25/26 · s/5


@pytest.mark.parametrize("dtype,init", [(torch.float16, "self"), (torch.bfloat16, "zero")])
def test_half_precision_at_length_1000(dtype, init):
    torch.manual_seed(3)
    module = CrossAggregationSelfAttention(embed_dim=4, num_heads=2, init=init, head_weights="sum")
    with torch.no_grad():  # logits beyond half precision's 65504
        module.in_proj.weight[:8] *= 200
    x = torch.randn(1, 1000, 4, requires_grad=True)
    padding = torch.zeros(1, 1000, dtype=torch.bool)
    padding[:, :3] = True
    mask = SequenceMask.build(padding)
    with recording(module) as records, torch.autocast("cpu", dtype):
        output = module(x, Flow(mask))
    assert output.dtype == dtype
    for name, tensor in records[""].items():
        assert torch.isfinite(tensor).all(), name
        assert tensor.dtype == (dtype if name == "weights" else torch.float32), name
    output.float().square().mean().backward()
    for tensor in (x, *module.parameters()):
        assert torch.isfinite(tensor.grad).all()
    with torch.no_grad():
        query = output.new_full((1, 2, 9, 2), 300.0)
        logits = module.aggregate(query, query, Flow())
        assert logits.max() > 65504 and torch.isfinite(logits).all()


@torch.no_grad()
def test_float32_routing_is_accurate_at_length_1000():
    """The Gram form takes norms from products: here against float64."""
    torch.manual_seed(3)
    module = CrossAggregationSelfAttention(embed_dim=4, num_heads=2, head_weights="sum")
    query, key = torch.randn(2, 1, 2, 1000, 2, dtype=torch.float16)
    half = module.aggregate(query, key, Flow())
    exact = module.double().aggregate(query.double(), key.double(), Flow())
    assert half.dtype == torch.float32
    torch.testing.assert_close(half.double(), exact, rtol=1e-4, atol=1e-4)


def test_records_are_distributions_and_totals_add_up():
    module = build(routing="both", init="self")
    (x,), padding = batch(1, "right")
    module(x, Flow(SequenceMask.build(padding)))
    with recording(module) as records:
        pass
    assert records == {"": {}}  # nothing unasked
    _, tensors = recorded(module, x, SequenceMask.build(padding))
    one = torch.ones((), dtype=torch.float64)
    for name, axis in (("weights", -1), ("horizontal", -1), ("vertical", 1), ("head_weights", 1)):
        sums = tensors[name].sum(axis)
        torch.testing.assert_close(sums, one.expand_as(sums))
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    assert not tensors["horizontal"][..., future].any()

    records = {"": Recorded(Place("encoder", 1, "self"), **tensors)}
    tokens = padding.long()
    totals = routing_totals(records, Batch(tokens, None, tokens, 1))
    total, count = totals["added_norm", 1]
    loop = [
        float(tensors["added_norm"][b, h, t])
        for b, h, t in itertools.product(range(3), range(3), range(5))
        if not padding[b, t]
    ]
    assert total / count == pytest.approx(sum(loop) / len(loop), abs=1e-12)
    head_weights = tensors["head_weights"]
    for head, expected in enumerate(head_weights.sum(0).tolist(), start=1):
        assert totals["head_weight", 1, head] == (pytest.approx(expected), 3)
    expected = sum(-float(w) * math.log(w) for w in head_weights.flatten())
    assert totals["head_entropy", 1] == (pytest.approx(expected), 3)


def initial_entropy(head_weights, length):
    """Mean entropy of Λ (nats) in 25 untrained modules, on normalised Gaussian sentences."""
    total, count = 0.0, 0
    for _ in range(25):
        module = CrossAggregationSelfAttention(
            embed_dim=256, num_heads=4, head_weights=head_weights
        )
        x = torch.nn.functional.layer_norm(torch.randn(4, length, 256), (256,))
        with torch.no_grad(), recording(module) as records:
            module(x, Flow())
        entropies = head_weight_entropy(records[""]["head_weights"])
        total, count = total + float(entropies.sum()), count + len(entropies)
    return total / count


def test_the_sum_saturates_and_the_mean_does_not():
    """The entropies of four heads that docs/papers/cross-aggregation.md prints."""
    printed = [1.28, 0.85, 0.59, 0.35, 0.03, 0.01]
    torch.manual_seed(1)
    means = [initial_entropy(kind, length) for kind in ("mean", "sum") for length in (10, 30, 100)]
    assert means == pytest.approx(printed, abs=0.01)
