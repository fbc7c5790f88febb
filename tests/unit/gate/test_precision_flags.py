"""bfloat16 is for GPUs; fairseq takes it for a sign of TPUs."""

import pytest
import torch
from fairseq import options

from dc_nmt_plugin.errors import ConfigError
from dc_nmt_plugin.gate.command import Command
from dc_nmt_plugin.gate.values import precision_problems

TRAINING = ["data", "--arch", "transformer_dc", "--task", "transformer_dc", "--optimizer", "adam"]


def parsed(*flags):
    return options.parse_args_and_arch(options.get_training_parser(), [*TRAINING, *flags])


@pytest.mark.parametrize("flag", ["--bf16", "--memory-efficient-bf16"])
def test_bf16_is_no_tpu_where_there_is_a_gpu(flag, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    args = parsed(flag)
    assert args.bf16 and not args.tpu


def test_a_tpu_is_refused_with_bf16_too():
    with pytest.raises(ConfigError, match="--tpu: this plugin runs on CPUs and GPUs"):
        parsed("--tpu", "--bf16")


@pytest.mark.parametrize("half", ["fp16", "bf16", "memory_efficient_fp16", "memory_efficient_bf16"])
@pytest.mark.parametrize(("cpu", "gpu", "refused"), [(True, True, True), (False, True, False),
                                                     (False, False, True)])  # fmt: skip
def test_half_precision_needs_a_gpu(half, cpu, gpu, refused, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    problems = list(precision_problems(Command({half: True, "cpu": cpu}, {}, [half])))
    assert len(problems) == refused
    assert all(half.replace("_", "-") in problem for problem in problems)
    assert not list(precision_problems(Command({"amp": True, "cpu": True}, {}, ["amp"])))
