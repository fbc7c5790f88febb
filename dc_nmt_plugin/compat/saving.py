"""Changes of how fairseq saves checkpoints."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from fairseq import checkpoint_utils

from ..files import check_space
from .change import Function, replace

PAUSE = 2.5  # seconds, fairseq's own


@replace(
    {"fairseq.checkpoint_utils:torch_persistent_save": "7b378dbffd0b"},
    reason="a second try to save writes behind the first one's half into the same file",
    test="tests/unit/compat/test_saving.py",
)
def write_whole_or_not(save: Function) -> Function:
    def torch_persistent_save(obj: Any, filename: str, async_write: bool = False) -> None:
        if async_write:
            save(obj, filename, async_write)
            return
        for tries_left in (2, 1, 0):
            try:
                with _replacing(filename) as part, open(part, "wb") as file:
                    torch.save(obj, file)
                return
            except Exception:  # torch's writer hides the reason
                if not tries_left:
                    raise
                time.sleep(PAUSE)

    return torch_persistent_save


@replace(
    {"fairseq.file_io:PathManager.copy": "bc6a76577a84"},
    reason="a copy that fails (full disk) has destroyed the checkpoint of that name",
    test="tests/unit/compat/test_saving.py",
)
def copy_whole_or_not(copy: Function) -> Function:
    def copy_file(src_path: str, dst_path: str, overwrite: bool = False) -> Any:
        with _replacing(dst_path) as part:
            return copy(src_path, part, True)

    return copy_file


@contextmanager
def _replacing(path: str) -> Iterator[str]:
    """Yields the name of a file that replaces `path` if the block succeeds.

    :func:`..files.replacing` names its file by the process: each killed training would leave one.

    Raises:
        UserError: the disk is full
    """
    part = path + ".tmp"
    try:
        yield part
        os.replace(part, path)
    except (OSError, RuntimeError) as error:
        Path(part).unlink(missing_ok=True)
        check_space(path, error)
        raise


SAVE = {"fairseq.checkpoint_utils:save_checkpoint": "3dceb4953a36"}


@replace(
    SAVE,
    reason="an update of --save-interval-updates that ends an epoch gets no checkpoint of its own "
    "with --no-epoch-checkpoints, nor does the last one of --max-update that is no multiple of it, "
    "and a mean of the last checkpoints lacks it",
    test="tests/system/test_continuing.py",
)
def save_every_interval(save: Function) -> Function:
    def save_checkpoint(cfg: Any, trainer: Any, epochs: Any, value: float | None) -> Any:
        every = 0 if cfg.write_checkpoints_asynchronously else cfg.save_interval_updates
        updates = trainer.get_num_updates()
        is_last = updates == trainer.cfg.optimization.max_update
        if cfg.no_epoch_checkpoints and every > 0 and (is_last or updates % every == 0):
            # fairseq gives an update its own checkpoint only inside an epoch, so this epoch goes
            # on for it. Not with asynchronous writing: the best checkpoint would be missing
            inside = {"epoch": epochs.epoch, "state_dict": epochs.state_dict}
            epochs = SimpleNamespace(**inside, end_of_epoch=lambda: False)
            if is_last:
                cfg = copy(cfg)
                cfg.save_interval_updates = 1  # every number of updates is a multiple of it
        return save(cfg, trainer, epochs, value)

    return save_checkpoint


@replace(
    {"fairseq_cli.train:validate_and_save": "3022f920884a", **SAVE},
    reason="a validation between two saved checkpoints (--validate-interval-updates, "
    "--save-interval) does not count, so checkpoint_best.pt is not the best",
    test="tests/system/test_continuing.py",
    after="nan_is_never_the_best",
)
def every_validation_counts(validate: Function, save: Function) -> tuple[Function, ...]:
    last_saved = -1  # update

    def validate_and_save(cfg: Any, trainer: Any, task: Any, epochs: Any, *args: Any) -> Any:
        losses, stops = validate(cfg, trainer, task, epochs, *args)
        value = losses[0]
        if value is not None and last_saved != trainer.get_num_updates():
            best = getattr(checkpoint_utils.save_checkpoint, "best", value)
            highest = cfg.checkpoint.maximize_best_checkpoint_metric
            is_best = value >= best if highest else value <= best
            if is_best or cfg.checkpoint.keep_best_checkpoints > 0:
                checkpoint_utils.save_checkpoint(cfg.checkpoint, trainer, epochs, value)
        return losses, stops

    def save_checkpoint(cfg: Any, trainer: Any, epochs: Any, value: float | None) -> Any:
        nonlocal last_saved
        last_saved = trainer.get_num_updates()
        return save(cfg, trainer, epochs, value)

    return validate_and_save, save_checkpoint
