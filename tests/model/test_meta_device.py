"""Training on torch's ``meta`` device: nothing is made on the CPU by mistake.

Meta tensors have no values. What the host reads of them is answered here: all positions are real.
A tensor on the CPU that a model makes in between would
be a copy and a wait on a GPU, or an error.
"""

from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from unittest import mock

import pytest
import torch
from helpers import sample, sentences, task
from product import VALUES
from product import model as transformer
from recurrent import MODELS
from recurrent import build as recurrent
from torch.utils._python_dispatch import TorchDispatchMode

from dc_nmt_plugin.criterions.joint_loss import JointLossCriterion

META = torch.device("meta")


class HandAnswers(TorchDispatchMode):
    """Answers what the host asks of meta tensors, and collects what is made on the CPU."""

    def __init__(self):
        super().__init__()
        self.on_cpu = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name, kwargs = func.name().split(".")[0].removeprefix("aten::"), kwargs or {}
        tensors = [part for part in (*args, *kwargs.values()) if isinstance(part, torch.Tensor)]
        if any(part.device == META for part in tensors):
            if name == "nonzero":  # as if true everywhere
                return torch.empty(args[0].numel(), args[0].dim(), dtype=torch.long, device=META)
            if name == "_local_scalar_dense":
                return False if args[0].dtype == torch.bool else 1
        result = func(*args, **kwargs)
        if (
            isinstance(result, torch.Tensor)
            and result.device.type == "cpu"
            and all(part.device == META for part in tensors)
        ):
            self.on_cpu.append(name)
        return result


@contextmanager
def on_meta():
    """Runs on the meta device; fails when a tensor is made on the CPU."""
    answers = HandAnswers()
    autocast = {
        "autocast": lambda *_, **__: nullcontext(),
        "is_autocast_enabled": lambda *_: False,
    }
    with ExitStack() as patches:
        for name, answer in autocast.items():
            patches.enter_context(mock.patch.object(torch, name, answer))
        # fairseq's positions make a tensor of a shape, which the host knows
        patches.enter_context(
            mock.patch("torch.onnx.operators.shape_as_tensor", lambda tensor: tensor.shape)
        )
        patches.enter_context(answers)
        yield
    assert not answers.on_cpu, answers.on_cpu


def moved(batch):
    return {
        key: moved(part)
        if isinstance(part, dict)
        else part.to(META)
        if torch.is_tensor(part)
        else part
        for key, part in batch.items()
    }


def batch():
    return sample(sentences([5, 3, 4]), sentences([4, 2, 5], seed=5))


RECURRENT = [
    each for each in MODELS if each[1] in ("memory-rnn", "self-attentive-rnn", "mean+last")
]
CASES = {
    **{" ".join(each): partial(transformer, each, dropout=0.1) for each in VALUES},
    **{" ".join(each): partial(recurrent, *each) for each in RECURRENT},
}


@pytest.mark.parametrize("name", CASES)
def test_a_training_step(name):
    net = CASES[name]().to(META).train()
    criterion = JointLossCriterion(task(), False, 0.1)
    sample = batch()
    if name.startswith("lm "):
        sample["net_input"]["src_tokens"] = sample["net_input"].pop("prev_output_tokens")
    sample = moved(sample)
    with on_meta():
        loss, _, _ = criterion(net, sample)
        loss.backward()
    assert all(p.grad is not None and p.grad.device == META for p in net.parameters())


def test_what_is_made_on_the_cpu_is_noticed():
    with pytest.raises(AssertionError, match="arange"), on_meta():
        torch.arange(3)
