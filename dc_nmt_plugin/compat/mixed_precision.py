"""Changes of ``--amp``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch

from .change import replace

logger = logging.getLogger(__name__)


class _UnscalesForTheStep:
    """Loss scale that unscales the gradients of the optimizer whose step comes next."""

    def __init__(self, scaler: Any, optimizer: Any) -> None:
        self._scaler, self._optimizer = scaler, optimizer

    def unscale_(self, optimizer: Any) -> None:
        self._scaler.unscale_(self._optimizer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scaler, name)


@replace(
    {
        "fairseq.optim.amp_optimizer:AMPOptimizer.__init__": "307eb13c2e80",
        "fairseq.optim.amp_optimizer:AMPOptimizer.clip_grad_norm": "5293fc2491c8",
    },
    reason="--amp divides the gradients by the loss scale twice: it unscales the optimizer inside "
    "its own, then steps its own, of which torch's scaler knows nothing; --amp-init-scale and "
    "--amp-scale-window are read from each other's places; on a CPU --amp silently does nothing",
    since="fairseq 0.12.2",
    test="tests/unit/compat/test_gpu_patches.py",
)
def unscale_once(
    start: Callable[..., None], clip: Callable[..., Any]
) -> tuple[Callable[..., Any], ...]:
    def init(self: Any, cfg: Any, params: Any, fp32_optimizer: Any, **kwargs: Any) -> None:
        start(self, cfg, params, fp32_optimizer, **kwargs)
        window = cfg.common.amp_scale_window
        options = {} if window is None else {"growth_interval": window}
        self._grad_scaler = torch.amp.GradScaler(
            "cuda", init_scale=cfg.common.amp_init_scale, **options
        )
        if cfg.common.get("cpu") or not torch.cuda.is_available():
            logger.warning("--amp changes nothing on a CPU: this training is in float32.")

    def clip_grad_norm(self: Any, max_norm: float, aggregate_norm_fn: Any = None) -> Any:
        scaler = self._grad_scaler
        self._grad_scaler = _UnscalesForTheStep(scaler, self.fp32_optimizer)
        try:
            return clip(self, max_norm, aggregate_norm_fn)
        finally:
            self._grad_scaler = scaler

    return init, clip_grad_norm
