"""Parameters of the thesis' Table 3.4, from the modules alone (d 512, d_ff 2048, 6 layers)."""

import pytest
import torch

from dc_nmt_plugin.modules.core.attention import SourceAttention
from dc_nmt_plugin.modules.layer_aggregation import (
    IterativeAggregation,
    JointAggregation,
)
from dc_nmt_plugin.modules.multi_layer_attention import MultiLayerAttention
from dc_nmt_plugin.papers.reader import find_item

BASELINE = 61.2  # millions
CELLS = [
    (entry.system.lower(), int(entry.flags["source_layers"]), float(entry.value))
    for entry in find_item("thesis, Table 3.4").entries
    if entry.measure == "params"
    and "n = 5's number again" not in entry.note
    and "source_layers" in entry.flags
]


def count(module):
    return sum(parameter.numel() for parameter in module.parameters()) / 1e6


def added(name, n):
    """Millions of parameters beyond the plain Transformer's."""
    shape = {"embed_dim": 512, "num_layers": n}
    combining = shape | {"ffn_dim": 2048}
    attention = {"embed_dim": 512, "source_dim": 512, "num_heads": 8}
    with torch.device("meta"):
        match name:
            case "s-agg":
                return count(JointAggregation(**shape))
            case "iter-s-agg":
                return count(IterativeAggregation(**shape))
            case "c-agg":
                return count(JointAggregation(**combining))
            case "iter-c-agg":
                return count(IterativeAggregation(**combining))
        u0, u1 = name[2] == "1", name[3] == "1"
        several = MultiLayerAttention(
            **attention, num_layers=n, joint_weights=not u0, sum_contexts=u1
        )
        return 6 * (count(several) - count(SourceAttention(**attention)))


@pytest.mark.parametrize("name, n, published", CELLS)
def test_table_3_4(name, n, published):
    assert BASELINE + added(name, n) == pytest.approx(published, rel=0.003)
