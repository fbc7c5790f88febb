"""Patches of how fairseq saves checkpoints and continues from them."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from typing import Any

import torch

from ..checkpoints.loading import (
    LAST,
    architecture_of,
    checkpoint_architecture,
    newest_readable,
)
from ..errors import UserError
from ..files import no_space
from .patch import replaces

TRIES, PAUSE = 3, 2.5  # fairseq's own; seconds


@replaces(
    "fairseq.trainer:Trainer.load_checkpoint",
    "c6d46e918710",
    reason="a damaged checkpoint_last.pt ends the run although older ones are whole, and one that "
    "does not fit is explained in a traceback, or not at all",
    since="fairseq 0.12.2",
    test="tests/system/test_refused_files.py",
)
def continue_from_what_is_whole(stock: Callable[..., Any]) -> Callable[..., Any]:
    def load_checkpoint(self: Any, filename: str, *args: Any, **kwargs: Any) -> Any:
        if os.path.basename(filename) == LAST and os.path.isfile(filename):
            continues = os.path.join(self.cfg.checkpoint.save_dir, LAST) == filename
            filename = newest_readable(filename)
            if continues and self.cfg.checkpoint.restore_file == LAST:
                _check_architecture(self, filename)
        try:
            return stock(self, filename, *args, **kwargs)
        except UserError:
            raise
        except Exception as error:
            # fairseq asserts the criterion and the optimizer, and hides what torch says of the
            # parameters behind an exception of its own
            told = error if isinstance(error, AssertionError) else error.__context__
            lines = [line.strip() for line in str(told).splitlines() if line.strip()]
            if not lines or not isinstance(told, (AssertionError, RuntimeError)):
                raise
            raise UserError(
                f"{filename}: does not fit this training; continue it with the flags that it was "
                "started with, or choose another --save-dir "
                f"({lines[min(1, len(lines) - 1)][:300]})."
            ) from error

    return load_checkpoint


def _check_architecture(trainer: Any, path: str) -> None:
    """Another architecture may have parameters of the same names and shapes, and would train on.

    Only where a model or a task of this package is trained: others' names are their own.

    Args:
        trainer: fairseq's, with the model that is to continue
        path: the checkpoint of its save folder

    Raises:
        UserError: the checkpoint's architecture has another name
    """
    package = __package__.partition(".")[0]
    parts = (trainer.task, trainer.get_model())
    if not any(type(part).__module__.partition(".")[0] == package for part in parts):
        return
    here, there = architecture_of(trainer.cfg.model), checkpoint_architecture(path)
    if None not in (here, there) and here != there:
        raise UserError(
            f"--save-dir {trainer.cfg.checkpoint.save_dir}: holds checkpoints of {there!r}, not of "
            f"{here!r}; give this run a folder of its own, or start from them with "
            "--finetune-from-model."
        )


@replaces(
    "fairseq.checkpoint_utils:_torch_persistent_save",
    "9cd5ea5fb0cf",
    "6a5802e49a00",  # 0.12.2
    reason="a second try writes behind the first one's half into the same file",
    since="fairseq 0.12.2",
    test="tests/unit/test_saving.py",
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
    test="tests/unit/test_saving.py",
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
    test="tests/unit/test_saving.py",
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
