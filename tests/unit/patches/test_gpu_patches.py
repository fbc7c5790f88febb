"""What fairseq gets wrong where there is a GPU, as far as a machine without one can tell."""

import argparse

import pytest
import torch
from fairseq import utils
from fairseq.optim.amp_optimizer import AMPOptimizer
from fairseq.optim.sgd import SGD
from omegaconf import OmegaConf


def parameters():
    torch.manual_seed(1)
    made = [torch.nn.Parameter(torch.randn(shape)) for shape in ((3, 4), (5,))]
    for parameter in made:
        parameter.grad = torch.randn_like(parameter)
    return made


@pytest.mark.parametrize("max_norm", [0.0, 0.5, 100.0])
def test_gradients_on_the_cpu_are_clipped_there_beside_a_gpu(max_norm, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    ours, theirs = parameters(), parameters()
    if max_norm:
        expected = torch.nn.utils.clip_grad_norm_(theirs, max_norm)
    else:
        expected = torch.cat([p.grad.flatten() for p in theirs]).norm()
    assert float(utils.clip_grad_norm_(ours, max_norm)) == pytest.approx(float(expected))
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.grad, other.grad)


def test_nothing_to_clip():
    assert float(utils.clip_grad_norm_([], 1.0)) == 0
    assert float(utils.clip_grad_norm_(torch.nn.Parameter(torch.ones(2)), 1.0)) == 0


@pytest.fixture
def scaler_here(monkeypatch):
    """A loss scale on this machine's device, made with fairseq's settings."""
    made = []

    class Here(torch.amp.GradScaler):
        def __init__(self, device="cpu", **settings):
            made.append(settings)
            super().__init__("cpu", **settings)

        def update_scale(self, scale):
            super().__init__("cpu", init_scale=scale)

    monkeypatch.setattr(torch.cuda.amp, "GradScaler", Here)
    monkeypatch.setattr(torch.amp, "GradScaler", Here)
    return made


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
    assert scaler_here[-1] == {"init_scale": 128, "growth_interval": 7}


def test_attention_makes_no_plan_for_every_length():
    assert not torch.backends.cuda.cudnn_sdp_enabled()
