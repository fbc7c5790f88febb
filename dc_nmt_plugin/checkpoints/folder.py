"""The folder of a training run (``--save-dir``): one process at a time, and nothing lost in it."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import zipfile
from pathlib import Path
from typing import IO, Any

from ..errors import UserError
from .loading import LAST

logger = logging.getLogger(__name__)

_locks: list[IO[Any]] = []  # of this process; the kernel frees them when it ends
_SAVED = r"checkpoint(?:\d+|_\d+_\d+|_best|\.best_\w+_[\d.]+)"


def lock_folder(folder: str, suffix: str = "") -> None:
    """Locks a folder for the rest of this process.

    Args:
        folder: that exists
        suffix: of the checkpoints' names, which processes of one run may have

    Raises:
        UserError: another process trains in it
    """
    try:
        lock = open(os.path.join(folder, f".lock{suffix}"), "a")  # noqa: SIM115  kept open
    except OSError:
        return  # no checkpoint can be saved there either, and saving says why
    try:
        # not flock, which workers that outlive a killed run would hold
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        lock.close()
        raise UserError(
            f"--save-dir {folder}: another training is running in it; take another folder, or wait "
            "for its end."
        ) from None
    except OSError as error:
        logger.warning(f"{folder} cannot be locked ({error.strerror}): start one training in it.")
    _locks.append(lock)


def restore_last(folder: str, suffix: str = "") -> None:
    """Makes the newest checkpoint of a folder its last one, if it has others but no last one.

    fairseq saves the last one after the others: a disk that was full then leaves a folder in which
    it would start anew, and replace them.
    """
    last = Path(folder, LAST.replace(".pt", f"{suffix}.pt"))
    pattern = re.compile(rf"{_SAVED}{re.escape(suffix)}\.pt")
    saved = [path for path in Path(folder).glob("checkpoint*.pt") if pattern.fullmatch(path.name)]
    saved = [path for path in saved if zipfile.is_zipfile(path)]
    if last.exists() or not saved:
        return
    newest = max(saved, key=lambda path: path.stat().st_mtime)
    logger.info(f"{last} is missing: continuing from {newest.name}")
    part = last.with_name(f"{last.name}.{os.getpid()}")  # several processes do the same
    shutil.copyfile(newest, part)
    part.replace(last)


def missing_best(cfg: Any, value: float | None, suffix: str = "") -> str | None:
    """Returns where the checkpoint of a validation belongs that fairseq did not save.

    fairseq saves none that is worse than all before, though fewer than
    ``--keep-best-checkpoints`` are there.

    Args:
        cfg: fairseq's settings of checkpoints
        value: of the validation, if there was one
        suffix: of the checkpoints' names
    """
    if value is None or cfg.no_save:
        return None
    first = f"checkpoint.best_{cfg.best_checkpoint_metric}_"
    name = f"{first}{value:.3f}"
    names = [each for each in os.listdir(cfg.save_dir) if each.startswith(first)]
    if len(names) >= cfg.keep_best_checkpoints or any(each.startswith(name) for each in names):
        return None
    return os.path.join(cfg.save_dir, f"{name}0{suffix}.pt")
