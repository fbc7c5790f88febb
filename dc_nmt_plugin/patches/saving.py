"""Patches of how fairseq saves checkpoints."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from typing import Any

import torch
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from ..checkpoints.dictionaries import KEY as DICTIONARIES
from ..checkpoints.dictionaries import dictionaries_of
from ..errors import UserError
from ..files import no_space
from . import patience
from .patch import replaces

TRIES, PAUSE = 3, 2.5  # fairseq's own; seconds


@replaces(
    "fairseq.trainer:Trainer.save_checkpoint",
    "49a930e8722b",
    reason="a checkpoint does not say which dictionaries it was trained with, and forgets what "
    "--patience has counted; an update of --save-interval-updates that ends an epoch gets no "
    "checkpoint of its own with --no-epoch-checkpoints",
    since="fairseq 0.12.2",
    test="tests/system/test_continuing.py",
)
def save_what_continues(stock: Callable[..., Any]) -> Callable[..., Any]:
    def save_checkpoint(self: Any, filename: str, extra_state: dict[str, Any]) -> Any:
        more = {DICTIONARIES: dictionaries_of(self.task), **patience.saved()}
        extra_state = {**extra_state, **more}
        named = _update_checkpoint(self, extra_state)
        if named is None or not self.should_save_checkpoint_on_current_rank:
            return stock(self, filename, extra_state)
        # before the others, so that checkpoint_last.pt never stands without it
        stock(self, named, extra_state)
        _remove_old(self)
        PathManager.copy(named, filename, overwrite=True)
        return os.path.abspath(filename)

    return save_checkpoint


def _update_checkpoint(trainer: Any, extra_state: dict[str, Any]) -> str | None:
    """Returns the name of an update's checkpoint that fairseq fails to save.

    None if fairseq saves it, or if it is not due.
    """
    cfg, place = trainer.cfg.checkpoint, extra_state.get("train_iterator")
    every, updates = cfg.save_interval_updates, trainer.get_num_updates()
    if not cfg.no_epoch_checkpoints or cfg.write_checkpoints_asynchronously:
        return None
    # an epoch's end is saved as the beginning of the next one; crash.pt has no place
    if not place or place["iterations_in_epoch"] or every <= 0 or updates % every:
        return None
    name = f"checkpoint_{place['epoch'] - 1}_{updates}{trainer.checkpoint_suffix}.pt"
    return os.path.join(cfg.save_dir, name)


def _remove_old(trainer: Any) -> None:
    """Deletes old checkpoints as --keep-interval-updates does after other updates."""
    cfg = trainer.cfg.checkpoint
    if cfg.keep_interval_updates <= 0:
        return
    pattern = rf"checkpoint_\d+_(\d+){trainer.checkpoint_suffix}\.pt"
    found = checkpoint_utils.checkpoint_paths(cfg.save_dir, pattern, keep_match=True)
    kept_for_ever = cfg.keep_interval_updates_pattern
    old = [path for path, n in found if kept_for_ever == -1 or n % kept_for_ever]
    for path in old[cfg.keep_interval_updates :]:
        os.remove(path)


@replaces(
    "fairseq.checkpoint_utils:_torch_persistent_save",
    "9cd5ea5fb0cf",
    reason="a second try writes behind the first one's half into the same file",
    since="fairseq 0.12.2",
    test="tests/unit/patches/test_saving.py",
)
def try_again_from_the_start(stock: Callable[..., None]) -> Callable[..., None]:
    def _torch_persistent_save(obj: Any, f: Any) -> None:
        if not hasattr(f, "truncate"):  # a path, or a stream that cannot go back
            return stock(obj, f)
        for left in reversed(range(TRIES)):
            try:
                f.seek(0)
                f.truncate()
                return torch.save(obj, f)
            except (OSError, RuntimeError):
                if not left:
                    raise
                time.sleep(PAUSE)
        return None

    return _torch_persistent_save


@replaces(
    "fairseq.checkpoint_utils:torch_persistent_save",
    "7b378dbffd0b",
    reason="a checkpoint that cannot be saved (full disk) leaves its half and a traceback",
    since="fairseq 0.12.2",
    test="tests/unit/patches/test_saving.py",
)
def explain_saving(stock: Callable[..., None]) -> Callable[..., None]:
    def torch_persistent_save(obj: Any, filename: str, async_write: bool = False) -> None:
        try:
            stock(obj, filename, async_write)
        except (OSError, RuntimeError) as error:
            raise _unwritable(filename, error) from error

    return torch_persistent_save


@replaces(
    "fairseq.file_io:PathManager.copy",
    "bc6a76577a84",
    reason="a copy that fails (full disk) has destroyed the checkpoint of that name",
    since="fairseq 0.12.2",
    test="tests/unit/patches/test_saving.py",
)
def copy_whole_or_not(stock: Callable[..., Any]) -> Callable[..., Any]:
    def copy(src_path: str, dst_path: str, overwrite: bool = False) -> Any:
        part = dst_path + ".tmp"
        try:
            copied = stock(src_path, part, True)
            os.replace(part, dst_path)
        except OSError as error:
            raise _unwritable(dst_path, error) from error
        return copied

    return copy


def _unwritable(path: str, error: Exception) -> UserError:
    if os.path.exists(path + ".tmp"):
        os.remove(path + ".tmp")
    folder = os.path.dirname(os.path.abspath(path))
    free = shutil.disk_usage(folder).free // 2**20 if os.path.isdir(folder) else 0
    text = str(error).strip()
    reason = no_space(error) or (text.splitlines()[0] if text else repr(error))
    return UserError(
        f"{path}: could not be saved ({reason}; {free} MiB free on its disk). The checkpoints "
        "saved before are intact: make room and start the same command again to resume."
    )
