"""A matrix over several blocks learns as slowly as one over a single block."""

from __future__ import annotations

import pytest
import torch

from dc_nmt_plugin.modules.context_aware import ContextAwareSelfAttention
from dc_nmt_plugin.modules.core.slow_linear import SlowLinear

WIDTH, OUT = 6, 4


@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_a_step_of_adam_moves_the_output_as_far_as_with_one_block(blocks: int):
    x = torch.rand(3, WIDTH) + 0.5

    def moved(count: int) -> torch.Tensor:
        torch.manual_seed(1)
        linear = SlowLinear(WIDTH, OUT, blocks=count)
        inputs = x.repeat(1, count)  # the blocks are the same
        before = linear(inputs)
        optimizer = torch.optim.Adam(linear.parameters(), lr=0.01)
        before.sum().backward()
        optimizer.step()
        return linear(inputs) - before

    assert torch.allclose(moved(blocks), moved(1), rtol=1e-4)


def test_a_checkpoint_from_before_has_the_matrix_itself():
    linear = SlowLinear(WIDTH, OUT, blocks=3, bias=False)
    weight = torch.randn(OUT, 3 * WIDTH)
    linear.load_state_dict({"weight": weight})
    assert torch.equal(linear.matrix, weight)
    again = SlowLinear(WIDTH, OUT, blocks=3, bias=False)
    again.load_state_dict(linear.state_dict())
    assert torch.equal(again.matrix, weight)


@pytest.mark.parametrize(("layer", "blocks"), [(1, 1), (4, 7)])  # 4 means and 3 layers' inputs
def test_the_contexts_of_context_aware_attention_are_blocks(layer: int, blocks: int):
    attention = ContextAwareSelfAttention(embed_dim=8, num_heads=2, layer=layer)
    projection = attention.context_proj
    assert float(projection.scale) == pytest.approx(1 / blocks)
    query = projection.matrix.chunk(2)[0]
    bound = (0.5 * 6 / (8 + 8 * blocks)) ** 0.5  # Xavier-uniform, gain 1/√2
    assert 0.9 * bound < float(query.abs().max()) <= bound
