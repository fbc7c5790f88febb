"""The conditional GRU against the equations, and its parts against torch's own."""

import pytest
import torch
from paper_names import of_conditional_gru
from reference.conditional_gru import conditional_gru
from reference.parameters import batch, randomise
from torch import nn

from dc_nmt_plugin.modules.conditional_gru import ConditionalGRU, gru_update
from dc_nmt_plugin.modules.core.recording import recording
from dc_nmt_plugin.modules.core.source import Source
from dc_nmt_plugin.modules.state_attention import StateMemory

E, D, C, A, X = 6, 5, 10, 7, 4  # words, states, annotations, attention, projected context
LENGTHS = (4, 2, 3)
STEPS = 5


def build(memory=False):
    module = ConditionalGRU(
        embed_dim=E,
        state_dim=D,
        source_dim=C,
        attention_dim=A,
        context_dim=X,
        memory=StateMemory(state_dim=D, embed_dim=E) if memory else None,
    )
    return randomise(module)


@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize(
    ("side", "lengths"), [("left", LENGTHS), ("right", LENGTHS), ("none", (4, 4, 4))]
)
@pytest.mark.parametrize("beam", [1, 2])
def test_equals_the_equations_forward_and_backward(memory, side, lengths, beam):
    module = build(memory)
    (annotations,), padding = batch(1, side, lengths, width=C)
    padding = padding if bool(padding.any()) else None
    rows = len(lengths) * beam
    words = torch.randn(rows, STEPS, E, dtype=torch.float64, requires_grad=True)
    with recording(module) as records:
        states, context, alignment = module(words, Source([annotations], padding, beam=beam))

    w = of_conditional_gru(module)
    expected_states, expected_context = [], []
    for row in range(rows):
        sentence = row // beam
        real = range(annotations.size(1)) if padding is None else (~padding[sentence]).nonzero()
        positions = [int(i) for i in real]
        s, c, weights, memories = conditional_gru(
            w, list(words[row]), [annotations[sentence, i] for i in positions], memory
        )
        expected_states.append(torch.stack(s))
        expected_context.append(torch.stack([w["W_c"] @ x for x in c]))
        for t in range(STEPS):
            actual = alignment[row, t, positions]
            torch.testing.assert_close(actual, torch.stack(weights[t]), atol=1e-10, rtol=0)
            assert alignment[row, t].sum().item() == pytest.approx(1)
            if memory:
                recorded = records["memory"]["previous_words"][row, t]
                expected = torch.zeros(STEPS, dtype=torch.float64)
                for i, weight in enumerate(memories[t]):
                    expected[i + 1] = weight.detach()  # s_i stands at the word that it predicts
                torch.testing.assert_close(recorded, expected, atol=1e-10, rtol=0)
    expected = [torch.stack(expected_states), torch.stack(expected_context)]
    torch.testing.assert_close([states, context], expected, atol=1e-10, rtol=0)

    inputs = [words, annotations, *module.parameters()]
    torch.manual_seed(3)
    weights = [torch.randn_like(x) for x in expected]
    actual = torch.autograd.grad([states, context], inputs, weights)
    wanted = torch.autograd.grad(expected, inputs, weights)
    torch.testing.assert_close(actual, wanted, atol=1e-10, rtol=0)
    assert all(bool(gradient.ne(0).any()) for gradient in actual)


@pytest.mark.parametrize("bias_outside", [True, False])
def test_transition_equals_torch_gru_cell(bias_outside):
    torch.manual_seed(4)
    cell = nn.GRUCell(E, D).double()
    zeroed = cell.bias_hh if bias_outside else cell.bias_ih  # GRU_1, GRU_2
    with torch.no_grad():
        zeroed[2 * D :] = 0
    x, s = torch.randn(3, E, dtype=torch.float64), torch.randn(3, D, dtype=torch.float64)
    bias = cell.bias_ih + cell.bias_hh
    inputs, recurrent = x @ cell.weight_ih.t(), s @ cell.weight_hh.t()
    actual = gru_update(inputs + bias, recurrent, s) if bias_outside else None
    if actual is None:
        actual = gru_update(inputs, recurrent + bias, s)
    torch.testing.assert_close(actual, cell(x, s), atol=1e-12, rtol=0)


def test_huge_attention_scores_stay_finite():
    module = build()
    with torch.no_grad():
        module.score.weight.mul_(1e4)
    (annotations,), padding = batch(1, "left", width=C)
    words = torch.randn(len(LENGTHS), STEPS, E, dtype=torch.float64)
    states, context, alignment = module(words, Source([annotations], padding))
    (states.sum() + context.sum()).backward()
    assert bool(torch.isfinite(alignment).all())
    assert all(bool(torch.isfinite(p.grad).all()) for p in module.parameters())
