"""The optimizer's work on all parameters at once does what fairseq does for each."""

import argparse
import copy
import inspect

import pytest
import torch
from fairseq import utils
from fairseq.optim.adam import Adam, FairseqAdam
from fairseq.optim.fp16_optimizer import FP16Optimizer, _FP16OptimizerMixin
from omegaconf import OmegaConf

from dc_nmt_plugin.speed.optimizer_step import step_of_adam

FLAGS = {
    "lr": [0.01],
    "adam_betas": "(0.9, 0.98)",
    "adam_eps": 1e-4,
    "weight_decay": 0.0,
    "fp16_adam_stats": False,
}
CHANGED = [
    (Adam, "step"),
    (_FP16OptimizerMixin, "zero_grad"),
    (_FP16OptimizerMixin, "_sync_fp16_grads_to_fp32"),
    (_FP16OptimizerMixin, "_sync_fp32_params_to_fp16"),
    (utils, "clip_grad_norm_"),
]
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def adam(device="cpu", **flags):
    generator = torch.Generator().manual_seed(1)
    shapes = [(7, 5), (5,), (3, 2)]
    parameters = [
        torch.nn.Parameter(torch.randn(shape, generator=generator).to(device)) for shape in shapes
    ]
    return FairseqAdam(argparse.Namespace(**{**FLAGS, **flags}), parameters), parameters


def set_gradients(parameters, number):
    generator = torch.Generator().manual_seed(number)
    for i, parameter in enumerate(parameters):
        gradient = torch.randn(parameter.shape, generator=generator) * 10.0 ** -(2 * i)
        # the last one's first gradient comes late: its steps are counted separately
        late = i == 2 and number < 3
        parameter.grad = None if late else gradient.to(parameter.device, parameter.dtype)


def assert_close(ours, expected):
    for one, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("flags", [{}, {"weight_decay": 0.1}, {"adam_eps": 1e-8}])
def test_steps_of_adam_are_fairseqs(flags):
    (ours, mine), (stock, yours) = adam(**flags), adam(**flags)
    for number in range(8):
        set_gradients(mine, number)
        set_gradients(yours, number)
        step_of_adam(ours.optimizer)
        stock.step()
        assert_close(mine, yours)


@pytest.mark.parametrize("ours_first", [True, False])
def test_either_goes_on_from_the_others_state(ours_first):
    (optimizer, parameters), (stock, yours) = adam(), adam()
    for number in range(8):
        set_gradients(parameters, number)
        set_gradients(yours, number)
        if (number < 4) == ours_first:
            step_of_adam(optimizer.optimizer)
        else:
            optimizer.step()
        stock.step()
        if number == 3:  # through a checkpoint
            saved = copy.deepcopy(optimizer.state_dict())
            assert {type(row["step"]) for row in saved["state"].values()} == {int}
            optimizer, fresh = adam()
            for new, old in zip(fresh, parameters, strict=True):
                new.data.copy_(old.data)
            parameters = fresh
            optimizer.load_state_dict(saved)
    assert_close(parameters, yours)


@pytest.fixture
def stock(monkeypatch):
    """Puts fairseq's own functions back, and returns the changed ones' setter."""
    changed = [(owner, name, getattr(owner, name)) for owner, name in CHANGED]

    def switch(to_stock):
        for owner, name, function in changed:
            monkeypatch.setattr(owner, name, inspect.unwrap(function) if to_stock else function)

    return switch


def half_precision(device):
    """Returns fairseq's optimizer of --bf16, and its parameters."""
    parameters = adam(device)[1]
    low = [torch.nn.Parameter(each.data.bfloat16()) for each in parameters]
    common = {"bf16": True, "fp16_scale_window": 8, "fp16_no_flatten_grads": False}
    optimizer = {"_name": "adam", **FLAGS, "use_old_adam": False, "tpu": False}
    cfg = OmegaConf.create({"common": common, "optimizer": optimizer})
    return FP16Optimizer.build_optimizer(cfg, low), low


@pytest.mark.parametrize("max_norm", [0.0, 0.1])
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=GPU)])
def test_updates_in_bfloat16_are_fairseqs(device, max_norm, stock):
    after = []
    for to_stock in (True, False):
        stock(to_stock)
        optimizer, low = half_precision(device)
        norms = []
        for number in range(6):
            optimizer.zero_grad()
            assert all(each.grad is None for each in low)
            for _ in range(1 + number % 2):  # gradients of two batches add up
                loss = sum((each.float() ** 2).sum() for each in low[: 2 + (number > 2)])
                optimizer.backward(loss)
            optimizer.multiply_grads(0.5)
            norms.append(optimizer.clip_grad_norm(max_norm).item())
            optimizer.step()
        after.append([*optimizer.fp32_params, *(each.float() for each in low), torch.tensor(norms)])
    assert_close(after[1], after[0])


@pytest.mark.parametrize("max_norm", [0.0, 0.5])
def test_gradients_are_clipped_on_their_own_device(max_norm, monkeypatch):
    """fairseq moves norms to the GPU of the machine, also in a training with --cpu."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: "meta")
    parameters = adam()[1]
    set_gradients(parameters, 1)
    before = torch.cat([each.grad.flatten() for each in parameters[:2]])
    norm = utils.clip_grad_norm_(iter(parameters), max_norm)
    after = torch.cat([each.grad.flatten() for each in parameters[:2]])
    assert_close([norm], [before.norm()])
    assert norm > 0.5
    assert_close([after], [before * (max_norm / norm if max_norm else 1.0)])
