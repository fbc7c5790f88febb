"""bfloat16 is for GPUs; fairseq takes it for a sign of TPUs."""

import pytest
import torch
from fairseq import options
from omegaconf import OmegaConf

from dc_nmt_plugin.errors import ConfigError
from dc_nmt_plugin.patches.programs import _check_precision

TRAINING = ["data", "--arch", "transformer_dc", "--task", "transformer_dc", "--optimizer", "adam"]


def parsed(*flags):
    return options.parse_args_and_arch(options.get_training_parser(), [*TRAINING, *flags])


@pytest.mark.parametrize("flag", ["--bf16", "--memory-efficient-bf16"])
@pytest.mark.parametrize("gpu", [True, False])
def test_bf16_is_no_tpu_where_there_is_a_gpu(flag, gpu, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    args = parsed(flag)
    assert args.bf16
    assert args.tpu is not gpu


def test_a_tpu_is_refused_with_bf16_too():
    with pytest.raises(ConfigError, match="--tpu: this plugin runs on CPUs and GPUs"):
        parsed("--tpu", "--bf16")


@pytest.mark.parametrize(
    ("common", "refused"),
    [
        ({"fp16": True, "cpu": True}, True),
        ({"fp16": True, "cpu": False}, True),  # there is no GPU here
        ({"fp16": True, "fp16_no_flatten_grads": True}, False),
        ({"fp16": True, "memory_efficient_fp16": True}, False),
        ({"bf16": True}, False),
        ({"amp": True}, False),
    ],
)
def test_hydras_fp16_on_a_cpu(common, refused, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    if refused:
        with pytest.raises(ConfigError, match=r"common\.fp16: half precision needs a GPU"):
            _check_precision(OmegaConf.create(common))
    else:
        _check_precision(OmegaConf.create(common))
