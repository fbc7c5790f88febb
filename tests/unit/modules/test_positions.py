"""Rotary and relative positions against their papers' equations, in every kind of attention."""

import pytest
import torch
from reference.base_block import relative_attention, rotate
from reference.parameters import randomise

from dc_nmt_plugin.modules.context_aware import ContextAwareSelfAttention
from dc_nmt_plugin.modules.core.flow import Flow
from dc_nmt_plugin.modules.core.masks import SequenceMask
from dc_nmt_plugin.modules.core.positions import RelativePositions, RotaryPositions
from dc_nmt_plugin.modules.core.recording import recording
from dc_nmt_plugin.modules.core.self_attention import SelfAttention
from dc_nmt_plugin.modules.cross_aggregation import CrossAggregationSelfAttention
from dc_nmt_plugin.modules.dual_context import DualContextAttention

WIDTH, HEADS, HEAD = 12, 2, 6
SHAPE = {"embed_dim": WIDTH, "num_heads": HEADS}
KINDS = {
    "standard": lambda: SelfAttention(**SHAPE),
    "dual_context": lambda: DualContextAttention(**SHAPE, kernel=3),
    "context_aware": lambda: ContextAwareSelfAttention(**SHAPE, layer=1, context="global"),
    "cross_aggregation": lambda: CrossAggregationSelfAttention(**SHAPE),
}
POSITIONS = {
    "rotary": lambda: RotaryPositions(head_dim=HEAD),
    "relative": lambda: RelativePositions(head_dim=HEAD, clip=2),
}


def build(kind, positions):
    module = KINDS[kind]()
    module.positions = POSITIONS[positions]()
    return randomise(module)


def run(module, x, mask=None, **others):
    flow = Flow(mask, **others)
    flow.inputs = [x]
    return module(x, flow)


def inputs(length, rows=2):
    torch.manual_seed(5)
    return torch.randn(rows, length, WIDTH, dtype=torch.float64)


def test_rotation_equals_the_paper():
    x = torch.randn(2, HEADS, 5, HEAD, dtype=torch.float64)
    turned = RotaryPositions(head_dim=HEAD).encode(x, Flow())
    for row in range(2):
        for head in range(HEADS):
            for m in range(5):
                expected = rotate(x[row, head, m], m)
                torch.testing.assert_close(turned[row, head, m], expected, rtol=0, atol=1e-12)


def test_products_depend_on_the_distance_alone():
    q, k = torch.randn(2, HEAD, dtype=torch.float64)
    near = [rotate(q, m) @ rotate(k, m + 3) for m in (0, 7, 400)]
    torch.testing.assert_close(near, near[:1] * 3, rtol=0, atol=1e-10)
    assert abs(near[0] - rotate(q, 0) @ rotate(k, 2)) > 1e-3


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", ["rotary", "relative"])
def test_attention(kind, causal):
    module, x = build("standard", kind), inputs(6)
    output = run(module, x, SequenceMask.build(None, causal=causal))
    q, k, v = (part.unflatten(-1, (HEADS, HEAD)) for part in module.in_proj(x).chunk(3, dim=-1))
    tables = (torch.zeros(1, HEAD, dtype=torch.float64),) * 2
    if kind == "relative":
        tables = module.positions.key_table, module.positions.value_table
    for row in range(2):
        heads = []
        for head in range(HEADS):
            query, key = q[row, :, head], k[row, :, head]
            if kind == "rotary":
                query = torch.stack([rotate(query[t], t) for t in range(6)])
                key = torch.stack([rotate(key[t], t) for t in range(6)])
            heads.append(relative_attention(query, key, v[row, :, head], *tables, causal=causal))
        expected = module.out_proj(torch.cat(heads, dim=-1))
        torch.testing.assert_close(output[row], expected, rtol=0, atol=1e-10)


def permuted_like_its_words(module, x):
    """The order of the words changes only the order of the outputs: positions are not seen."""
    order = torch.tensor([2, 0, 3, 1])
    return torch.allclose(run(module, x)[:, order], run(module, x[:, order]), atol=1e-9)


@pytest.mark.parametrize("kind", ["standard", "context_aware", "cross_aggregation"])
def test_without_positions_order_is_not_seen_and_with_them_it_is(kind):
    # horizontal routing and dual context's convolution see the order by themselves
    x = inputs(4)
    module = build(kind, "rotary")
    if kind == "cross_aggregation":
        module.horizontal = False
    assert not permuted_like_its_words(module, x)
    module.positions = None
    assert permuted_like_its_words(module, x)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_attention_of_a_kind_sees_them(kind, positions):
    """The weights that each records change with the positions."""
    x, module = inputs(5), build(kind, positions)
    recorded = []
    for kept in (module.positions, None):
        module.positions = kept
        with recording(module) as records:
            run(module, x)
        recorded.append(
            {n: t for n, t in records[""].items() if n.endswith("weights") and t.dim() > 2}
        )
    assert recorded[0]
    for name, weights in recorded[0].items():
        assert not torch.allclose(weights, recorded[1][name], atol=1e-4), name


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype):
    x = torch.randn(1, 1, 2000, HEAD)
    exact = RotaryPositions(head_dim=HEAD).encode(x, Flow())
    half = RotaryPositions(head_dim=HEAD).encode(x.to(dtype), Flow())
    assert half.dtype == dtype
    torch.testing.assert_close(half.float(), exact, rtol=0.02, atol=0.02)
