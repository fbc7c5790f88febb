"""What fairseq gets wrong where there is a GPU, as far as a machine without one can tell."""

import argparse

import pytest
import torch
from fairseq import options
from fairseq.optim.amp_optimizer import AMPOptimizer
from fairseq.optim.sgd import SGD
from omegaconf import OmegaConf


def parameters():
    torch.manual_seed(1)
    both = [torch.nn.Parameter(torch.randn(shape)) for shape in ((3, 4), (5,))]
    for parameter in both:
        parameter.grad = torch.randn_like(parameter)
    return both


@pytest.mark.parametrize("flag", ["--bf16", "--memory-efficient-bf16"])
def test_bf16_is_no_tpu_where_there_is_a_gpu(flag, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    words = ["data", "--arch", "transformer_dc", "--task", "transformer_dc", flag]
    args = options.parse_args_and_arch(options.get_training_parser(), words)
    assert args.bf16 and not args.tpu


@pytest.fixture
def scaler_here(monkeypatch):
    """A loss scale on this machine's device, made with fairseq's settings."""
    scalers = []

    class Here(torch.amp.GradScaler):
        def __init__(self, device="cpu", **settings):
            scalers.append(settings)
            super().__init__("cpu", **settings)

        def update_scale(self, scale):
            super().__init__("cpu", init_scale=scale)

    monkeypatch.setattr(torch.cuda.amp, "GradScaler", Here)
    monkeypatch.setattr(torch.amp, "GradScaler", Here)
    return scalers


@pytest.mark.parametrize("clipped", [True, False])
def test_gradients_of_amp_are_unscaled_once(clipped, scaler_here):
    """A step with a scaled loss is the step without."""
    common = {"fp16_init_scale": 4, "amp_init_scale": 128, "amp_scale_window": 7}
    cfg = OmegaConf.create({"common": {**common, "min_loss_scale": 1e-4}, "optimizer": {}})
    after = []
    for scale in (1.0, 128.0):
        (parameter, _) = parameters()
        sgd = argparse.Namespace(lr=[0.1], momentum=0.0, weight_decay=0.0)
        optimizer = AMPOptimizer(cfg, [parameter], SGD(sgd, [parameter]))
        optimizer._grad_scaler.update_scale(scale)
        parameter.grad = None
        optimizer.backward((parameter**2).sum())
        if clipped:
            optimizer.clip_grad_norm(0.1)
        optimizer.step()
        after.append(parameter.detach().clone())
    torch.testing.assert_close(*after)


def test_attention_makes_no_plan_for_every_length():
    assert not torch.backends.cuda.cudnn_sdp_enabled()
