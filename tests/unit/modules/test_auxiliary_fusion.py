"""Auxiliary information fusion against the thesis' equations."""

import pytest
import torch
from reference.auxiliary_fusion import auxiliary_fusion
from reference.parameters import assert_same_gradients, randomise

from dc_nmt_plugin.modules.auxiliary_fusion import AuxiliaryFusion

WIDTH, ROWS, LENGTH = 12, 2, 3


def build(num_auxiliary):
    torch.manual_seed(2)
    x, *features = (
        torch.randn(ROWS, LENGTH, WIDTH, dtype=torch.float64, requires_grad=True)
        for _ in range(num_auxiliary + 1)
    )
    module = randomise(AuxiliaryFusion(embed_dim=WIDTH, num_auxiliary=num_auxiliary))
    return module, x, features


@pytest.mark.parametrize("num_auxiliary", [1, 2, 3])
def test_equals_the_equations(num_auxiliary):
    module, x, features = build(num_auxiliary)
    (weight,) = module.parameters()
    assert weight.numel() == num_auxiliary * WIDTH**2
    matrices = [weight[:, i * WIDTH : (i + 1) * WIDTH] for i in range(num_auxiliary)]
    wanted = torch.stack(
        [
            torch.stack(
                [
                    auxiliary_fusion(matrices, x[r, t], [f[r, t] for f in features])
                    for t in range(LENGTH)
                ]
            )
            for r in range(ROWS)
        ]
    )
    output, inputs = module(x, features), [x, *features, weight]
    torch.testing.assert_close(output, wanted, rtol=0, atol=1e-10)
    assert_same_gradients(output, wanted, inputs)
