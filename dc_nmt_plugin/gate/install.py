"""Puts the gate in front of fairseq's commands."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..errors import ConfigError, debugging
from ..files import no_space
from .command import Command
from .data import check_data
from .explanations import explained
from .interactive import one_answer_a_line
from .losses import find_the_first_nan, name_what_is_left_out, stop_a_diverged_training
from .settings import check_command, subsets

_installed = False


def install() -> None:
    """Check every command line of fairseq, and name what is lost; a second call does nothing."""
    global _installed
    if _installed:
        return
    _installed = True
    _check_command_lines()
    one_answer_a_line()
    name_what_is_left_out()
    stop_a_diverged_training()
    find_the_first_nan()
    _leave_no_half_translation()
    # a log that cannot be written (full disk) would print a traceback a line
    logging.raiseExceptions = debugging()


def _leave_no_half_translation() -> None:
    """Without room for all of it, no file of ``--results-path`` is left that looks whole."""
    generate: Any = sys.modules.get("fairseq_cli.generate")
    if generate is None:
        return
    stock: Callable[..., Any] = generate.main

    @functools.wraps(stock)
    def main(args: Any) -> Any:
        try:
            return stock(args)
        except OSError as error:
            folder = getattr(args, "results_path", None)
            if folder and no_space(error):
                with contextlib.suppress(OSError):
                    os.remove(os.path.join(folder, f"generate-{args.gen_subset}.txt"))
            raise

    generate.main = main


def explain_under_hydra() -> None:
    """A sentence for what fails in ``fairseq-hydra-train``: Hydra asks no excepthook.

    It has to be called before the training begins, where ``common.user_dir`` is read too late.
    """
    hydra_train: Any = sys.modules.get("fairseq_cli.hydra_train")
    if hydra_train is None:  # fairseq_cli/hydra_train.py run as a file
        return
    stock: Callable[..., Any] = hydra_train._hydra_main

    @functools.wraps(stock)
    def train(cfg: Any, **kwargs: Any) -> Any:
        try:
            _check_precision(cfg.common)
            return stock(cfg, **kwargs)
        except Exception as error:
            sentence = explained(error)
            if sentence is None or debugging():
                raise
            print(f"error: {sentence}", file=sys.stderr)
            sys.exit(1)

    hydra_train._hydra_main = train


def _check_precision(common: Any) -> None:
    """Refuse what fairseq keeps on the GPU alone: its flat copy of the parameters for fp16.

    Args:
        common: that group of the configuration

    Raises:
        ConfigError: fp16 on a CPU
    """
    flat = not (common.get("fp16_no_flatten_grads") or common.get("memory_efficient_fp16"))
    on_cpu = common.get("cpu") or not torch.cuda.is_available()
    if on_cpu and common.get("fp16") and flat:
        raise ConfigError(
            [
                "common.fp16: half precision needs a GPU, and this run is on the CPU; leave it out "
                "(float32), or set common.amp=true."
            ]
        )


def _check_command_lines() -> None:
    from fairseq import options

    stock: Callable[..., Any] = options.parse_args_and_arch

    @functools.wraps(stock)
    def parse_args_and_arch(
        parser: Any, input_args: Sequence[str] | None = None, *more: Any, **kwargs: Any
    ) -> Any:
        parsed = stock(parser, input_args, *more, **kwargs)
        if kwargs.get("suppress_defaults") or (len(more) > 1 and more[1]):
            return parsed  # a second look at the same line
        args = parsed[0] if isinstance(parsed, tuple) else parsed
        words = list(sys.argv[1:] if input_args is None else input_args)
        given = {word[2:].split("=")[0].replace("-", "_") for word in words if word[:2] == "--"}
        defaults = {name: parser.get_default(name) for name in vars(args)}
        command = Command(vars(args), defaults, given)
        check_command(command)
        if input_args is None:  # a program, not a function of Python that wants a configuration
            check_data(command.flags, subsets(command))
        if args.bf16 and torch.cuda.is_available():
            args.tpu = False  # which fairseq sets with --bf16: GPUs have bfloat16 too
        if command.generating and not command.interactive and args.num_shards > 1:
            # fairseq-generate has the flags and reads others
            args.distributed_world_size, args.distributed_rank = args.num_shards, args.shard_id
        return parsed

    options.parse_args_and_arch = parse_args_and_arch
