"""Patches of fairseq's training: its clock, gradient norms, mixed precision, divergence."""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable
from typing import Any

import torch

from ..errors import UserError
from .patch import changes, replaces

logger = logging.getLogger(__name__)

DIVERGED = 1000.0  # bits a token; a vocabulary of a million has 20
SELDOM = 50  # updates


@replaces(
    "fairseq.logging.metrics:load_state_dict",
    "3986f547834c",
    reason="a checkpoint's meters replace those that run, and the clock of the whole training "
    "(the log's wall) then says 0 to the end",
    since="fairseq 0.12.2",
    test="tests/unit/patches/test_training_clock.py",
)
def keep_the_clock_running(stock: Callable[[Any], None]) -> Callable[[Any], None]:
    def load_state_dict(state: Any) -> None:
        from fairseq.logging import metrics

        started = getattr(metrics.get_meter("default", "wall"), "start_time", None)
        stock(state)
        clock = metrics.get_meter("default", "wall")
        if started is not None and clock is not None:
            clock.start_time = started

    return load_state_dict


def _apex_is_missing() -> bool:
    from fairseq import utils

    return not utils.multi_tensor_l2norm_available


@replaces(
    "fairseq.utils:multi_tensor_total_norm",
    "a718a40afb9a",
    reason="without apex the norm of gradients is taken to the GPU whenever there is one, where a "
    "training with --cpu fails; on a GPU all norms are one operation here",
    since="fairseq 0.12.2",
    test="tests/unit/patches/test_gpu_patches.py",
    needed=_apex_is_missing,
)
def norm_where_the_gradients_are(stock: Callable[..., Any]) -> Callable[..., Any]:
    def multi_tensor_total_norm(grads: Any, chunk_size: int = 0) -> torch.Tensor:
        if grads[0].is_cuda and all(grad.dtype == torch.float32 for grad in grads):
            return torch.nn.utils.get_total_norm(grads)
        return torch.norm(torch.stack([torch.norm(g, p=2, dtype=torch.float32) for g in grads]))

    return multi_tensor_total_norm


@changes(
    "fairseq.utils:multi_tensor_l2norm_available",
    reason="makes clip_grad_norm_ call multi_tensor_total_norm, the plugin's without apex",
    since="fairseq 0.12.2",
    test="tests/unit/patches/test_gpu_patches.py",
    needed=_apex_is_missing,
)
def use_that_norm() -> None:
    from fairseq import utils

    utils.multi_tensor_l2norm_available = hasattr(utils.multi_tensor_total_norm, "__wrapped__")


@replaces(
    "fairseq.optim.amp_optimizer:AMPOptimizer.__init__",
    "307eb13c2e80",
    reason="--amp-init-scale and --amp-scale-window are read from each other's places; on a CPU "
    "--amp changes nothing and does not say so",
    since="fairseq 0.12.2",
    test="tests/unit/patches/test_gpu_patches.py",
)
def heed_the_flags_of_amp(stock: Callable[..., None]) -> Callable[..., None]:
    def init(self: Any, cfg: Any, params: Any, fp32_optimizer: Any, **kwargs: Any) -> None:
        stock(self, cfg, params, fp32_optimizer, **kwargs)
        window = cfg.common.amp_scale_window
        options = {} if window is None else {"growth_interval": window}
        self._grad_scaler = torch.amp.GradScaler(
            "cuda", init_scale=cfg.common.amp_init_scale, **options
        )
        if cfg.common.get("cpu") or not torch.cuda.is_available():
            logger.warning("--amp changes nothing on a CPU: this training is in float32.")

    return init


class _UnscalesForTheStep:
    """Loss scale that unscales the gradients of the optimizer whose step comes next."""

    def __init__(self, scaler: Any, optimizer: Any) -> None:
        self._scaler, self._optimizer = scaler, optimizer

    def unscale_(self, optimizer: Any) -> None:
        self._scaler.unscale_(self._optimizer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scaler, name)


@replaces(
    "fairseq.optim.amp_optimizer:AMPOptimizer.clip_grad_norm",
    "5293fc2491c8",
    reason="--amp divides the gradients by the loss scale twice: it unscales the optimizer inside "
    "its own, then steps its own, of which torch's scaler knows nothing",
    since="fairseq 0.12.2",
    test="tests/unit/patches/test_gpu_patches.py",
)
def unscale_once(stock: Callable[..., Any]) -> Callable[..., Any]:
    def clip_grad_norm(self: Any, max_norm: float, aggregate_norm_fn: Any = None) -> Any:
        scaler = self._grad_scaler
        self._grad_scaler = _UnscalesForTheStep(scaler, self.fp32_optimizer)
        try:
            return stock(self, max_norm, aggregate_norm_fn)
        finally:
            self._grad_scaler = scaler

    return clip_grad_norm


@replaces(
    "fairseq.tasks.fairseq_task:FairseqTask.reduce_metrics",
    "468b3ad89c9c",
    reason="a run whose perplexity overflows continues to its last update",
    since="fairseq 0.12.2",
    test="tests/system/test_bad_input.py",
)
def stop_when_diverged(stock: Callable[..., None]) -> Callable[..., None]:
    calls = itertools.count()

    def reduce_metrics(self: Any, logging_outputs: list[dict[str, Any]], criterion: Any) -> None:
        stock(self, logging_outputs, criterion)
        if not criterion.training or not logging_outputs:
            return
        if getattr(logging_outputs[0].get("loss"), "is_cuda", False) and next(calls) % SELDOM:
            return  # a number on a GPU: reading it makes the update wait
        loss = sum(float(log.get("loss", 0)) for log in logging_outputs)
        tokens = sum(float(log.get("ntokens", 0)) for log in logging_outputs)
        if tokens and loss / tokens / math.log(2) > DIVERGED:
            raise UserError(
                f"the training has diverged: its loss is {loss / tokens / math.log(2):,.0f} bits a "
                "token, an infinite perplexity; lower --lr, raise --warmup-updates or give "
                "--clip-norm, and start again from an earlier checkpoint."
            )

    return reduce_metrics


@replaces(
    "fairseq.nan_detector:NanDetector.add_hooks",
    "6386d196f910",
    reason="the detector stumbles over outputs that are neither tensors nor tuples, such as our "
    "encoder's, and hides why training failed; this plugin's are checked in the forward pass only",
    since="fairseq 0.12.2",
    test="tests/system/test_bad_input.py",
)
def find_the_first_nan(stock: Callable[..., None]) -> Callable[..., None]:
    def add_hooks(self: Any, module: Any) -> None:
        backward = self.backward
        ours = type(module).__module__.partition(".")[0] == __package__.partition(".")[0]
        self.backward = backward and not ours
        try:
            stock(self, module)
        finally:
            self.backward = backward

    return add_hooks
