"""Adam in one operation takes fairseq's steps, from and to fairseq's state."""

import argparse
import copy

import pytest
import torch
from fairseq.optim.adam import FairseqAdam

from dc_nmt_plugin.tasks.fast.fused_adam import step_fused

FLAGS = {
    "lr": [0.01],
    "adam_betas": "(0.9, 0.98)",
    "adam_eps": 1e-4,
    "weight_decay": 0.0,
    "fp16_adam_stats": False,
}


def made(**flags):
    generator = torch.Generator().manual_seed(1)
    shapes = [(7, 5), (5,), (3, 2)]
    parameters = [torch.nn.Parameter(torch.randn(s, generator=generator)) for s in shapes]
    return FairseqAdam(argparse.Namespace(**{**FLAGS, **flags}), parameters), parameters


def set_gradients(parameters, number):
    generator = torch.Generator().manual_seed(number)
    for i, parameter in enumerate(parameters):
        gradient = torch.randn(parameter.shape, generator=generator) * 10.0 ** -(2 * i)
        # the last one's first gradient comes late: its steps are counted apart
        parameter.grad = None if i == 2 and number < 3 else gradient


def assert_close(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("flags", [{}, {"weight_decay": 0.1}, {"adam_eps": 1e-8}])
def test_steps_are_fairseqs(flags):
    (ours, mine), (theirs, yours) = made(**flags), made(**flags)
    for number in range(8):
        for parameters in (mine, yours):
            set_gradients(parameters, number)
        assert step_fused(ours)
        theirs.step()
        assert_close(mine, yours)
    assert mine[2].grad is not None


@pytest.mark.parametrize("ours_first", [True, False])
def test_either_goes_on_from_the_others_state(ours_first):
    (optimizer, parameters), (theirs, yours) = made(), made()
    for number in range(8):
        set_gradients(parameters, number)
        set_gradients(yours, number)
        if (number < 4) == ours_first:
            assert step_fused(optimizer)
        else:
            optimizer.step()
        theirs.step()
        if number == 3:  # through a checkpoint
            saved = copy.deepcopy(optimizer.state_dict())
            assert {type(row["step"]) for row in saved["state"].values()} == {int}
            optimizer, fresh = made()
            for new, old in zip(fresh, parameters, strict=True):
                new.data.copy_(old.data)
            parameters = fresh
            optimizer.load_state_dict(saved)
    assert_close(parameters, yours)


def test_what_is_not_plain_adam_is_left_alone():
    optimizer, parameters = made()
    parameters[0].data = parameters[0].data.bfloat16()
    set_gradients(parameters[1:], 5)
    before = copy.deepcopy(parameters)
    assert not step_fused(optimizer)
    assert all(torch.equal(a, b) for a, b in zip(parameters, before, strict=True))
    assert not step_fused(argparse.Namespace(optimizer=optimizer.optimizer))
