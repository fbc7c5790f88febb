"""Changes of how a training run begins: what is refused, and the checkpoint that it goes on from.

They change one function, in this order: the last one of them runs first.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
from pathlib import Path
from typing import IO, Any

from fairseq.file_io import PathManager

from ..checkpoints.loading import LAST
from ..checkpoints.names import OF_TRAINING
from ..errors import ConfigError, UserError
from .change import Function, replace
from .programs import contradictions

logger = logging.getLogger(__name__)

BEGINNING = {"fairseq.checkpoint_utils:load_checkpoint": "30f7c43ad0e2"}
_locks: list[IO[Any]] = []  # of this process; the kernel frees them when it ends


def is_in(path: str, folder: str) -> bool:
    """Returns True for the checkpoint of a run that continues in the folder where it began."""
    return os.path.realpath(os.path.dirname(path)) == os.path.realpath(folder)


@replace(
    BEGINNING,
    reason="without the file of --restore-file, a run starts from new weights, and nothing says so",
    test="tests/system/test_continuing.py",
)
def refuse_a_missing_checkpoint(load: Function) -> Function:
    def load_checkpoint(cfg: Any, trainer: Any, **kwargs: Any) -> Any:
        path = cfg.restore_file.replace(".pt", f"{trainer.checkpoint_suffix}.pt")
        in_own_folder = cfg.restore_file == LAST or is_in(path, cfg.save_dir)  # empty at first
        if not in_own_folder and not PathManager.isfile(path):
            raise UserError(f"--restore-file {path}: no such file.")
        return load(cfg, trainer, **kwargs)

    return load_checkpoint


@replace(
    BEGINNING,
    reason="a run whose checkpoint_last.pt is missing, because the disk was full, starts anew",
    test="tests/system/test_second_round.py",
    after="refuse_a_missing_checkpoint",
)
def find_the_last_checkpoint(load: Function) -> Function:
    def load_checkpoint(cfg: Any, trainer: Any, **kwargs: Any) -> Any:
        if not cfg.no_save and cfg.restore_file == LAST:
            _restore_last(cfg.save_dir, trainer.checkpoint_suffix)
        return load(cfg, trainer, **kwargs)

    return load_checkpoint


def _restore_last(folder: str, suffix: str) -> None:
    """Makes the newest checkpoint of a folder its last one, if that one is missing."""
    last = Path(folder, LAST.replace(".pt", f"{suffix}.pt"))
    if last.exists():
        return
    name = OF_TRAINING + re.escape(f"{suffix}.pt")
    saved = [path for path in Path(folder).glob("*.pt") if re.fullmatch(name, path.name)]
    if saved:
        newest = max(saved, key=lambda path: path.stat().st_mtime)
        logger.info(f"{last} is missing: continuing from {newest.name}")
        part = last.with_name(f"{last.name}.{os.getpid()}")  # several processes do the same
        shutil.copyfile(newest, part)
        part.replace(last)


@replace(
    BEGINNING,
    reason="two training runs in one folder mix their checkpoints",
    test="tests/system/test_second_round.py",
    after="find_the_last_checkpoint",
)
def one_training_a_folder(load: Function) -> Function:
    def load_checkpoint(cfg: Any, trainer: Any, **kwargs: Any) -> Any:
        if not cfg.no_save and trainer.data_parallel_rank == 0:
            lock_folder(cfg.save_dir, trainer.checkpoint_suffix)
        return load(cfg, trainer, **kwargs)

    return load_checkpoint


def lock_folder(folder: str, suffix: str = "") -> None:
    """Locks a folder for the rest of this process, for checkpoints with this suffix of their names.

    Raises:
        UserError: another process trains in it
    """
    try:
        lock = open(os.path.join(folder, f".lock{suffix}"), "a")  # noqa: SIM115  kept open
    except OSError:
        return  # another user's, in the folder of a group
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


@replace(
    BEGINNING,
    reason="flags that contradict each other are taken, such as --maximize-best-checkpoint-metric "
    "of a loss, and a task cannot check a whole training run before it begins",
    test="tests/system/test_second_round.py",
    after="one_training_a_folder",
)
def refuse_contradictions(load: Function) -> Function:
    def load_checkpoint(cfg: Any, trainer: Any, **kwargs: Any) -> Any:
        problems = contradictions(trainer.cfg)
        if problems:
            raise ConfigError(problems)
        check_training = getattr(trainer.task, "check_training", None)  # of this plugin's tasks
        if check_training is not None:
            check_training(trainer)
        return load(cfg, trainer, **kwargs)

    return load_checkpoint
