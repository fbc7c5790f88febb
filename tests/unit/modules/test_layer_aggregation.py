"""Layer aggregation against the thesis' equations; parameters of its Table 3.4."""

import functools

import pytest
import torch
from reference import layer_aggregation as reference
from reference.parameters import assert_same_gradients, randomise

from dc_nmt_plugin.modules.layer_aggregation import (
    IterativeAggregation,
    LinearAggregation,
    WeightedSum,
)

WIDTH, FFN, SENTENCES, LENGTH = 14, 20, 2, 3
COMBINING = {"ffn_dim": FFN}
AGGREGATIONS = {
    "s-agg": (LinearAggregation, {}),
    "iter-s-agg": (IterativeAggregation, {}),
    "c-agg": (LinearAggregation, COMBINING),
    "iter-c-agg": (IterativeAggregation, COMBINING),
}
kinds = pytest.mark.parametrize("kind", AGGREGATIONS)


def build(kind, num_layers, **kwargs):
    aggregation, options = AGGREGATIONS[kind]
    return randomise(aggregation(embed_dim=WIDTH, num_layers=num_layers, **options, **kwargs))


def features(num_layers):
    torch.manual_seed(1)
    size = (SENTENCES, LENGTH, WIDTH)
    return [torch.randn(size, dtype=torch.float64, requires_grad=True) for _ in range(num_layers)]


def thesis_parameters(unit):
    """The unit's parameters under the thesis' names."""
    if hasattr(unit, "weight"):
        return [unit.weight[:, i : i + WIDTH] for i in range(0, unit.weight.size(1), WIDTH)]
    return {
        "W_1": unit.fc1.weight,
        "b_1": unit.fc1.bias,
        "W_2": unit.fc2.weight,
        "b_2": unit.fc2.bias,
        "gain": unit.layer_norm.weight,
        "offset": unit.layer_norm.bias,
    }


def expected(module, inputs):
    units = [module.unit] if hasattr(module, "unit") else module.units
    summing = all(isinstance(unit, WeightedSum) for unit in units)
    unit = reference.weighted_sum if summing else reference.aggregation_unit
    if hasattr(module, "unit"):
        apply = functools.partial(reference.linear, unit, thesis_parameters(module.unit))
    else:
        parameters = [thesis_parameters(unit) for unit in module.units]
        apply = functools.partial(reference.iterative, unit, parameters)
    return torch.stack(
        [
            torch.stack([apply([f[s, m] for f in inputs]) for m in range(LENGTH)])
            for s in range(SENTENCES)
        ]
    )


@kinds
@pytest.mark.parametrize("num_layers", [1, 2, 4])
def test_equals_the_equations(kind, num_layers):
    module, inputs = build(kind, num_layers), features(num_layers)
    output, wanted = module(inputs), expected(module, inputs)
    torch.testing.assert_close(output, wanted, rtol=0, atol=1e-10)
    assert_same_gradients(output, wanted, [*inputs, *module.parameters()])


def test_dropout_spares_the_sum_of_the_features():
    unit, inputs = build("c-agg", 2, dropout=1 - 1e-9).unit.train(), features(2)
    torch.testing.assert_close(unit(inputs), unit.layer_norm(inputs[0] + inputs[1]))


def test_iterative_with_one_layer_is_the_layer():
    for kind in ("iter-s-agg", "iter-c-agg"):
        module, (feature,) = build(kind, 1), features(1)
        assert torch.equal(module([feature]), feature)
        assert not list(module.parameters())
