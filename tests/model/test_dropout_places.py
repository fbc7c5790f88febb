"""Dropout is where fairseq's Transformer and the papers have it, and nowhere outside training."""

import re

import pytest
import torch
from helpers import build, few, perturb, sample, sentences
from test_stock_equality import both
from variants import MODULES, VARIANTS

from dc_nmt_plugin.modules.core import dropout as ours

RATES = ("dropout", "activation_dropout", "layerdrop")


def batch():
    return sample(sentences([7, 3, 5]), sentences([4, 6, 2], seed=5))["net_input"]


@pytest.mark.parametrize("name", ["post-norm", "pre-norm"])
@torch.no_grad()
def test_what_is_dropped_is_what_fairseq_drops(name, monkeypatch):
    """With every second channel dropped instead of any: no chance, the same places."""

    def keep(x):
        return (torch.arange(x.size(-1)) % 2).to(x).expand_as(x).clone()

    monkeypatch.setattr(ours, "_keep", lambda x, dropped: keep(x))
    monkeypatch.setattr(
        "torch.nn.functional.dropout",
        lambda x, p=0.5, training=True, inplace=False: x * keep(x) / (1 - p) if training else x,
    )
    rates = {"dropout": 0.25, "activation_dropout": 0.5}  # multiples of 2^-16
    stock, house = both(name, **rates)
    assert not torch.allclose(house.train()(**batch())[0], house.eval()(**batch())[0], atol=1e-2)
    real = batch()["prev_output_tokens"].ne(1)
    for model in (stock, house):
        model.train()
    expected, mine = stock(**batch())[0], house(**batch())[0]
    torch.testing.assert_close(mine[real], expected[real], atol=2e-6, rtol=1e-5)


def states(net):
    """All that a forward pass computes, of every decoder."""
    features, extra = net(**batch(), features_only=True, with_auxiliary=True)
    return torch.cat([features, *extra["auxiliary_features"].values()])


@pytest.mark.parametrize("name", few(VARIANTS, *MODULES))
@torch.no_grad()
def test_every_module_drops_in_training_alone(name):
    """Each rate by itself: it makes two passes differ in training, and none otherwise.

    Layers are made in a loop: one module of a kind and place stands for all.
    """
    arch, settings = VARIANTS[name]
    net = perturb(build(arch, **settings))
    rates = [(module, rate) for module in net.modules() for rate in RATES if hasattr(module, rate)]
    assert {rate for _, rate in rates} == set(RATES)
    for module, rate in rates:
        setattr(module, rate, 0.0)
    torch.manual_seed(1)
    plain = states(net.eval())
    places = {
        (re.sub(r"\d+", "", place), type(module), rate): module
        for place, module in net.named_modules()
        for rate in RATES
        if hasattr(module, rate)
    }
    for (_, _, rate), module in places.items():
        setattr(module, rate, 0.5)
        differs = any(
            not torch.allclose(states(net.train()), plain, atol=1e-4)
            for _ in range(10 if rate == "layerdrop" else 1)
        )
        assert differs, (type(module).__name__, rate)
        assert torch.equal(states(net.eval()), plain), (type(module).__name__, rate)
        setattr(module, rate, 0.0)
