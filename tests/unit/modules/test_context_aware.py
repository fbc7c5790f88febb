"""Context-aware self-attention against the paper's equations, and the rules every kind obeys."""

import itertools

import pytest
import torch
from reference.context_aware import context_aware_self_attention
from reference.parameters import batch, projections, randomise

from dc_nmt_plugin.modules.context_aware import ContextAwareSelfAttention, global_context
from dc_nmt_plugin.modules.core.flow import Flow
from dc_nmt_plugin.modules.core.masks import SequenceMask
from dc_nmt_plugin.modules.core.recording import Place, Recorded, recording
from dc_nmt_plugin.modules.core.self_attention import SelfAttention
from dc_nmt_plugin.modules.diagnostics import Batch, mean_gates
from dc_nmt_plugin.modules.mechanisms import CONTEXT_AWARE

WIDTH, HEADS, LENGTHS = 12, 3, (5, 2, 4)
CONTEXTS, MIXED, GATES = (option.choices for option in CONTEXT_AWARE.options)
KINDS = list(itertools.product(CONTEXTS, MIXED))


def build(context, on, layer=3, width=WIDTH, heads=HEADS, **kwargs):
    module = ContextAwareSelfAttention(
        embed_dim=width, num_heads=heads, layer=layer, context=context, on=on, **kwargs
    )
    return randomise(module)


def run(module, inputs, padding, causal, past=None, session=None):
    flow = Flow(SequenceMask.build(padding, causal=causal), past=past, session=session)
    flow.inputs = list(inputs)
    return module(inputs[-1], flow)


def paper_weights(module, context):
    """The module's parameters under the paper's names, each multiplied from the right."""
    weights = projections(module)
    if module.has_context:
        for i, side in enumerate(module.mixed):
            name = side.upper()
            weights[f"U_{name}"] = module.context_proj.matrix.chunk(len(module.mixed))[i].t()
            if module.has_gate:
                weights[f"VH_{name}"] = module.gate_input[i]
                weights[f"VC_{name}"] = module.gate_context[i]
    return weights


def reference(module, inputs, padding, causal, context, on):
    """Outputs of the real positions, sentence after sentence, and their gates."""
    outputs, gates_q, gates_k = [], [], []
    for b in range(inputs[0].size(0)):
        rows = [
            [x[b, t] for t in range(x.size(1)) if padding is None or not padding[b, t]]
            for x in inputs
        ]
        output, gate_q, gate_k = context_aware_self_attention(
            rows,
            paper_weights(module, context),
            layer=len(inputs),
            context=context,
            on=on,
            heads=HEADS,
            causal=causal,
        )
        outputs.append(output)
        gates_q += gate_q
        gates_k += gate_k
    return torch.cat(outputs), gates_q, gates_k


@pytest.mark.parametrize("side,causal", [("left", False), ("right", True)])
@pytest.mark.parametrize("context,on", KINDS)
@pytest.mark.parametrize("gate", GATES)
def test_equals_the_paper(gate, context, on, side, causal):
    module = build(context, on, gate=gate)
    inputs, padding = batch(3, side)
    with recording(module) as records:
        recorded = run(module, inputs, padding, causal)
    real = ~padding
    expected, gates_q, gates_k = reference(module, inputs, padding, causal, context, on)
    torch.testing.assert_close(recorded[real], expected, rtol=0, atol=1e-10)
    for name, gates in (("lambda_q", gates_q), ("lambda_k", gates_k)):
        if gates[0] is None:
            assert name not in records[""]
        else:
            assert records[""][name].shape == (*padding.shape, 1)
            torch.testing.assert_close(
                records[""][name][real].squeeze(-1), torch.stack(gates), rtol=0, atol=1e-10
            )
    weights = records[""]["weights"].sum(-1).transpose(1, 2)[real]
    torch.testing.assert_close(weights, torch.ones_like(weights))

    leaves = [*inputs, *module.parameters()]
    upstream = torch.randn_like(expected)
    fast, slow = (
        torch.autograd.grad((output * upstream).sum(), leaves, materialize_grads=True)
        for output in (run(module, inputs, padding, causal)[real], expected)
    )
    for got, want in zip(fast, slow, strict=True):
        torch.testing.assert_close(got, want, rtol=0, atol=1e-10)


@pytest.mark.parametrize("context", [c for c in CONTEXTS if c != "deep"])
def test_layer_one_equals_the_paper(context):
    module = build(context, "both", layer=1)
    inputs, padding = batch(1, "left")
    expected, _, _ = reference(module, inputs, padding, False, context, "both")
    actual = run(module, inputs, padding, False)[~padding]
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-10)


def test_deep_context_of_layer_one_is_standard_attention():
    module = build("deep", "both", layer=1)
    standard = SelfAttention(embed_dim=WIDTH, num_heads=HEADS).double()
    standard.load_state_dict(module.state_dict())  # strict: the very same parameters
    inputs, padding = batch(1, "left")
    with recording(module) as records:
        actual = run(module, inputs, padding, False)
    mask = SequenceMask.build(padding)
    torch.testing.assert_close(actual, standard(inputs[0], Flow(mask)), rtol=0, atol=1e-12)
    assert set(records[""]) == {"weights"}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("past", [None, {}])
def test_running_means_survive_half_precision(dtype, past):
    # sums beyond float16's 65504, and beyond bfloat16's 8 bits many times
    x = 30 + torch.rand(1, 3000, 1, generator=torch.Generator().manual_seed(1)).to(dtype)
    if past is None:
        flow = Flow(SequenceMask(causal=True))
        flow.inputs.append(x)
        last = global_context(flow, 0)[:, -1]
    else:
        for t in range(x.size(1)):
            flow = Flow(SequenceMask(causal=True), past=past)
            flow.inputs.append(x[:, t : t + 1])
            last = global_context(flow, 0)[:, -1]
    assert last.dtype == dtype
    assert float(last) == pytest.approx(float(x.double().mean()), rel=0.005)


def test_mean_gates_count_real_tokens_only_and_add_up():
    module = build("global", "both", layer=1)
    inputs, padding = batch(1, "left")
    with recording(module, ("lambda_q",)) as records:
        run(module, inputs, padding, False)
    assert set(records[""]) == {"lambda_q"}
    gates = records[""]["lambda_q"]
    tokens = padding.long()
    of_layers = {
        str(layer): Recorded(Place("encoder", layer, "self"), lambda_q=gates) for layer in (1, 3)
    }
    elsewhere = {"source": Recorded(Place("encoder", 2, "source"), lambda_q=gates)}
    totals = mean_gates({"": Recorded(), **of_layers, **elsewhere}, Batch(tokens, None, tokens, 1))
    total, count = totals["lambda_q", "encoder", 3]
    assert count == sum(LENGTHS)
    expected = sum(float(gates[b, t]) for b in range(3) for t in range(5) if not padding[b, t])
    assert total == pytest.approx(expected, abs=1e-12)
    assert set(totals) == {
        *(("lambda_q", "encoder", layer) for layer in (1, 3)),
        ("lambda_q", "encoder"),
    }
    assert totals["lambda_q", "encoder"] == (pytest.approx(2 * total), 2 * count)
