"""fairseq's own ``language_modeling`` task, checked and mended as the translation tasks are.

``lstm_lm_selfattn_residual`` is used with that task, which others' models use too, so it is
changed in place: what is refused here could not have worked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fairseq.tasks.language_modeling import LanguageModelingTask

from ..errors import ConfigError
from .run_checks import check_training_run

_mended = False


def mend() -> None:
    """Check language modelling before it starts, and let a resumed training equal an unbroken one;
    calling it again does nothing."""
    global _mended
    if _mended:
        return
    _mended = True
    # an iterator kept from the first epoch repeats that epoch's batches; a resumed run would not
    LanguageModelingTask.can_reuse_epoch_itr = lambda self, dataset: False
    _check_blocks()
    _check_model()


def _check_blocks() -> None:
    stock: Callable[..., Any] = LanguageModelingTask.setup_task.__func__

    @functools.wraps(stock)
    def setup_task(cls: Any, args: Any, **kwargs: Any) -> Any:
        length = getattr(args, "tokens_per_sample", 1)
        if length < 1:
            raise ConfigError([f"--tokens-per-sample: {length} is not at least 1."])
        return stock(cls, args, **kwargs)

    LanguageModelingTask.setup_task = classmethod(setup_task)


def _check_model() -> None:
    stock: Callable[..., Any] = LanguageModelingTask.build_model

    @functools.wraps(stock)
    def build_model(self: Any, args: Any, from_checkpoint: bool = False) -> Any:
        if not from_checkpoint:
            check_training_run(args)
        try:
            return stock(self, args, from_checkpoint)
        except ValueError as error:
            if not str(error).startswith("Unsupported language modeling target"):
                raise
            name = str(error).split()[-1]
            raise ConfigError(
                [f"--{name}-target: this model predicts the next word only; leave the flag out."]
            ) from error

    LanguageModelingTask.build_model = build_model


mend()
