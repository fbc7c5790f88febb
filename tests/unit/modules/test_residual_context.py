"""The readouts' parts against the equations; running forms, extreme scores, decoding steps."""

import pytest
import torch
from paper_names import of_attention, of_readout
from reference import residual_context as reference
from reference.parameters import randomise

from dc_nmt_plugin.modules.core import additive_attention
from dc_nmt_plugin.modules.core.recording import Recorded, recording
from dc_nmt_plugin.modules.diagnostics import Batch, previous_word_totals
from dc_nmt_plugin.modules.readout import Readout
from dc_nmt_plugin.modules.residual_context import (
    ContentResidual,
    ContentScopeResidual,
    MeanResidual,
)
from dc_nmt_plugin.modules.state_attention import StateSummary

E, D, A = 6, 5, 7
KINDS = {
    "mean": (lambda: MeanResidual(), reference.mean),
    "content": (lambda: ContentResidual(embed_dim=E), reference.content),
    "content+scope": (
        lambda: ContentScopeResidual(embed_dim=E, state_dim=D),
        reference.content_scope,
    ),
    "self-attentive-rnn": (lambda: StateSummary(state_dim=D, attention_dim=A), None),
}


def build(kind):
    return randomise(KINDS[kind][0]())


def run(module, words, states, session=None):
    if isinstance(module, StateSummary):
        return module(states, session=session)
    return module(words, states, session=session)


def sequences(rows=3, length=5, dtype=torch.float64, **kwargs):
    torch.manual_seed(2)
    words = torch.randn(rows, length, E, dtype=dtype, **kwargs)
    return words, torch.randn(rows, length, D, dtype=dtype, **kwargs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chunk", [2, 64])
@pytest.mark.parametrize("length", [1, 5])
def test_equals_the_equations_forward_and_backward(kind, chunk, length, monkeypatch):
    monkeypatch.setattr(additive_attention, "BLOCK", chunk)
    module = build(kind)
    words, states = sequences(length=length, requires_grad=True)
    with recording(module) as records:
        actual = run(module, words, states)
    w = of_attention(module)
    rows = []
    for row in range(words.size(0)):
        if kind == "self-attentive-rnn":
            expected, offset = reference.state_summary(w, list(states[row])), 1
        else:
            expected, offset = KINDS[kind][1](w, list(words[row]), list(states[row])), 0
        rows.append(torch.stack([vector for vector, _ in expected]))
        if length == 1:
            continue
        for t, (_, weights) in enumerate(expected):
            line = torch.zeros(length, dtype=torch.float64)
            for i, weight in enumerate(weights):
                line[i + offset] = weight.detach()
            recorded = records[""]["previous_words"][row, t]
            torch.testing.assert_close(recorded, line, atol=1e-10, rtol=0)
    expected = torch.stack(rows)
    torch.testing.assert_close(actual, expected, atol=1e-10, rtol=0)
    if kind == "self-attentive-rnn" and length == 1:
        return  # nothing to attend to: the zero vector
    inputs = [words, states, *module.parameters()]
    cotangent = torch.randn_like(expected)
    gradients = torch.autograd.grad(actual, inputs, cotangent, allow_unused=True)
    wanted = torch.autograd.grad(expected, inputs, cotangent, allow_unused=True)
    for gradient, other in zip(gradients, wanted, strict=True):  # None where there is none
        torch.testing.assert_close(gradient, other, atol=1e-10, rtol=0)


@pytest.mark.parametrize("summary_dim", [None, D])
@pytest.mark.parametrize("with_context", [True, False])
def test_readout_equals_the_equation(summary_dim, with_context):
    module = randomise(Readout(state_dim=D, embed_dim=E, summary_dim=summary_dim))
    words, states = sequences(rows=1)
    contexts = torch.randn(1, 5, E, dtype=torch.float64) if with_context else None
    summaries = None if summary_dim is None else states.flip(1)
    actual = module(states, words, context=contexts, summary=summaries)
    w = of_readout(module)
    for t in range(5):
        expected = reference.readout(
            w,
            states[0, t],
            words[0, t],
            None if contexts is None else contexts[0, t],
            None if summaries is None else summaries[0, t],
        )
        torch.testing.assert_close(actual[0, t], expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("recorded", [False, True])
def test_steps_equal_the_whole_with_reordering(kind, recorded):
    """Rows are repeated, swapped and dropped on the way, as beam search does."""
    module = build(kind)
    words, states = sequences(rows=3, length=6)
    orders = [[0, 0, 1, 2], [3, 1, 1, 0], [2, 0], [1, 1, 0], [2, 1, 0]]
    session = {}
    paths = [torch.arange(3)[:, None]]  # for each row, the original row of every step so far
    for t in range(6):
        now = paths[-1][:, -1]
        with recording(module) as records:
            step = run(module, words[now, t : t + 1], states[now, t : t + 1], session)
        past = paths[-1], torch.arange(t + 1)
        with recording(module) as full_records:
            full = run(module, words[past], states[past])
        torch.testing.assert_close(step[:, 0], full[:, -1], atol=1e-12, rtol=0)
        if recorded and t:
            actual = records[""]["previous_words"][:, 0]
            expected = full_records[""]["previous_words"][:, -1]
            torch.testing.assert_close(actual, expected, atol=1e-12, rtol=0)
        if t < 5:
            order = torch.tensor(orders[t])
            module.reorder_incremental_state(session, order)
            # every row goes on with a word of another sentence: its past must be its own
            nxt = (paths[-1][order][:, -1:] + torch.arange(len(order))[:, None]) % 3
            paths.append(torch.cat([paths[-1][order], nxt], dim=1))


@pytest.mark.parametrize("size", [1e4, -1e4])
def test_huge_scores_lose_no_weight(size):
    module = build("content").float()
    with torch.no_grad():
        module.score.weight.fill_(size)
    words, states = sequences(dtype=torch.float32, requires_grad=True)
    actual = module(words, states)
    expected = module.double()(words.double(), states.double())
    torch.testing.assert_close(actual, expected.float(), atol=0.05, rtol=0)
    actual.sum().backward()
    assert bool(torch.isfinite(words.grad).all())


def test_half_precision_counts_on():
    """In bfloat16 a sum of ones stops at 256."""
    module, session = MeanResidual(), {}
    words = torch.linspace(0, 2, 601)[None, :, None].bfloat16()
    steps = [module(words[:, t : t + 1], words, session=session) for t in range(601)]
    assert steps[-1].item() == pytest.approx(1, abs=0.01)
    torch.testing.assert_close(torch.cat(steps, dim=1), module(words, words), atol=0.01, rtol=0)


def test_diagnostics_by_hand():
    weights = torch.zeros(2, 3, 3)
    weights[0] = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]])
    weights[1] = torch.tensor([[0.0, 0, 0], [0, 1, 0], [9, 9, 9]])  # one real pair of positions
    target = torch.tensor([[5, 6, 2], [5, 2, 1]])
    records = {"": Recorded(previous_words=weights)}
    totals = previous_word_totals(records, Batch(target, None, target, 1))
    entropy, count = totals[("previous_entropy",)]
    assert count == 4  # three of the first sentence, one of the second: its first row is empty
    log2 = torch.tensor(2.0, dtype=torch.float64).log()
    torch.testing.assert_close(entropy, log2 + 1.5 * log2)
    assert totals[("previous_last",)][0].item() == pytest.approx(1 + 0.5 + 0.5 + 1)
