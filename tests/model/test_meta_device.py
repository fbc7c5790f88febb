"""Training on torch's ``meta`` device: nothing is made on the CPU by mistake.

A tensor on the CPU that a model makes in between would be a copy and a wait on a GPU, or an error.
"""

from functools import partial

import pytest
import torch
from helpers import sample, sentences, task
from product import VALUES
from product import model as transformer
from recurrent import MODELS
from recurrent import build as recurrent

from dc_nmt_plugin.criterions.joint_loss import JointLossCriterion
from dc_nmt_plugin.laboratory.watching import META, on_another_device, on_meta


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
    sample = on_meta(sample)
    with on_another_device() as on_cpu:
        loss, _, _ = criterion(net, sample)
        loss.backward()
    assert not on_cpu
    assert all(p.grad is not None and p.grad.device == META for p in net.parameters())


def test_what_is_made_on_the_cpu_is_noticed():
    with on_another_device() as on_cpu:
        torch.arange(3)
    assert on_cpu == ["arange"]
