"""A decoding session's keys and values, reordered in any way between steps."""

import pytest
import torch

from dc_nmt_plugin.modules.core.flow import Flow
from dc_nmt_plugin.modules.core.self_attention import MultiHeadSelfAttention

ORDERS = {
    "none": [],
    "swapped and dropped": [[2, 0, 0]],
    "twice in a row": [[3, 1, 2, 2], [1, 1, 0]],
}


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("gradients", [True, False])
def test_rows_follow_every_order(name, gradients):
    module, session = MultiHeadSelfAttention(num_heads=2), {}
    torch.manual_seed(1)
    kept = [torch.empty(4, 2, 0, 3), torch.empty(4, 2, 0, 3)]
    with torch.set_grad_enabled(gradients):
        for _ in range(3):
            rows = kept[0].size(0)
            new = [torch.randn(rows, 2, 1, 3) for _ in kept]
            kept = [torch.cat([old, part], dim=2) for old, part in zip(kept, new, strict=True)]
            cached = module.with_past(Flow(session=session), *new)
            assert all(torch.equal(*pair) for pair in zip(cached, kept, strict=True))
            for order in ORDERS[name] if rows == 4 else [[0, 2, 1]]:
                module.reorder_incremental_state(session, torch.tensor(order))
                kept = [part[order] for part in kept]
