"""Changes of ``--amp`` and ``--bf16``."""

from __future__ import annotations

import importlib.util
import logging
from contextlib import ExitStack
from typing import Any

import torch

from .. import machine
from ..errors import ConfigError
from ..speed import bfloat16
from .change import Function, change, replace
from .programs import PARSING

logger = logging.getLogger(__name__)
_for_the_program = ExitStack()  # never left


@replace(
    {"fairseq.optim.amp_optimizer:AMPOptimizer.step": "a8574c4cfaf9"},
    reason="--amp divides the gradients by the loss scale twice: it unscales the optimizer inside "
    "its own, then steps its own, of which torch's scaler knows nothing",
    test="tests/unit/compat/test_gpu_patches.py",
)
def unscale_once(_: Function) -> Function:
    def step(self: Any) -> None:
        self.scaler.step(self.optimizer)
        self.scaler.update()

    return step


@change(
    "torch.nn.functional:linear",
    reason="on a CPU, torch's autocast multiplies attention in bfloat16 too, in many small "
    "products, and rounds the weights at every call; here linear layers alone can do so",
    since="torch 2",
    test="tests/unit/speed/test_bfloat16_products.py",
)
def linear_layers_in_bfloat16() -> None:
    torch.nn.functional.linear = bfloat16.linear  # type: ignore[assignment]


@replace(
    {
        **PARSING,
        "fairseq.trainer:Trainer.__init__": "cf26753ab87a",
    },
    reason="--bf16 means a TPU, and a training elsewhere ends with an ImportError; on a CPU --amp "
    "changes nothing, and --fp16 ends in a traceback",
    test="tests/system/test_bfloat16.py",
    after="linear_layers_in_bfloat16",
)
def bfloat16_on_a_cpu(parse: Function, start: Function) -> tuple[Function, ...]:
    def parse_args_and_arch(*words: Any, **kwargs: Any) -> Any:
        parsed = parse(*words, **kwargs)
        args = parsed[0] if isinstance(parsed, tuple) else parsed  # with the unknown flags
        # fairseq-validate asks for a namespace without the defaults
        if getattr(args, "bf16", False):
            xla = importlib.util.find_spec("torch_xla")
            args.tpu = xla is not None and not torch.cuda.is_available()
        if hasattr(args, "path") and bfloat16_flag(args):  # of trained models
            _for_the_program.enter_context(bfloat16.bfloat16_products())
        return parsed

    def init(self: Any, cfg: Any, *parts: Any, **kwargs: Any) -> None:
        flag = self.bfloat16_flag = bfloat16_flag(cfg.common)
        flat = not (cfg.common.memory_efficient_fp16 or cfg.common.fp16_no_flatten_grads)
        if cfg.common.fp16 and flat and (cfg.common.cpu or not torch.cuda.is_available()):
            raise ConfigError("--fp16: fairseq trains with it on a GPU alone; leave the flag out.")
        if flag:  # all else is as in float32: optimizer, checkpoints, no scale of the loss
            cfg.common.amp = cfg.common.bf16 = cfg.common.memory_efficient_bf16 = False
        start(self, cfg, *parts, **kwargs)
        if flag:
            logger.info("linear layers multiply in bfloat16; all else is in float32")
            self.train_step = bfloat16.bfloat16_products()(self.train_step)
            self.valid_step = bfloat16.bfloat16_products()(self.valid_step)

    return parse_args_and_arch, init


def bfloat16_flag(common: Any) -> str | None:
    """Returns the name of the flag by which a program uses bfloat16 on a CPU; None without.

    Raises:
        ConfigError: the processor cannot
    """
    flag = next((flag for flag in ("bf16", "amp") if getattr(common, flag, False)), None)
    on_gpu = torch.cuda.is_available() and not getattr(common, "cpu", False)
    if on_gpu or getattr(common, "tpu", False):
        return None
    if flag and not machine.multiplies_bfloat16():
        raise ConfigError(
            f"--{flag}: this CPU ({machine.processor()}) has no instructions for bfloat16 "
            f"(avx512_bf16 or amx_bf16), or {machine.BFLOAT16} is 0: it would be slower with it; "
            "leave the flag out."
        )
    return flag
