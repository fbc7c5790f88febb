"""Leaving padding out changes nothing at real positions, forward and backward."""

import torch

from dc_nmt_plugin.modules.core.masks import SequenceMask
from dc_nmt_plugin.modules.fast.packing import (
    pack,
    real_rows,
    unpack,
)

PADDING = torch.tensor([[0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 1, 1]], dtype=torch.bool)


def test_there_and_back():
    x = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    rows = real_rows(PADDING)
    packed = pack(x, rows)
    assert torch.equal(packed, x[~PADDING])
    back = unpack(packed, rows, 3, 4)
    assert torch.equal(back, x.masked_fill(PADDING[:, :, None], 0.0))
    assert torch.autograd.gradcheck(lambda x: unpack(pack(x, rows) ** 2, rows, 3, 4), (x,))


def test_a_function_of_real_positions():
    torch.manual_seed(1)
    linear = torch.nn.Linear(5, 5).double()
    x = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    results = []
    for rows in (real_rows(PADDING), None):
        mask = SequenceMask.build(PADDING, rows=rows)
        y = mask.zero_padding(mask.on_real(x, linear))
        results.append([y, *torch.autograd.grad(y.square().sum(), (x, *linear.parameters()))])
    for packed, plain in zip(*results, strict=True):
        torch.testing.assert_close(packed, plain, rtol=1e-12, atol=1e-12)
