"""fairseq's own loading and saving made safe, atomic and clear in what they say of failures."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..errors import UserError
from ..files import no_space
from .literals import check_configuration, evaluate_plainly
from .loading import (
    LAST,
    architecture_of,
    check_checkpoint_file,
    checkpoint_architecture,
    newest_readable,
    unreadable,
)

_guarded = False


def guard() -> None:
    """Explain failures of fairseq's loading and saving; calling it again does nothing."""
    global _guarded
    if _guarded:
        return
    _guarded = True
    evaluate_plainly()
    _load_checkpoints_safely()
    _unpack_inside()
    _explain_failed_resumption()
    _save_checkpoints_atomically()


def _load_checkpoints_safely() -> None:
    """Say in one sentence what is wrong with a checkpoint that cannot be loaded."""
    from fairseq import checkpoint_utils

    stock: Callable[..., dict[str, Any]] = checkpoint_utils.load_checkpoint_to_cpu

    @functools.wraps(stock)
    def load_checkpoint_to_cpu(path: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        check_checkpoint_file(path)
        try:
            with _safe_loader():
                state = stock(path, *args, **kwargs)
        except UserError:
            raise
        except (KeyError, AttributeError, TypeError) as error:
            raise UserError(f"{path}: is not a fairseq checkpoint ({error!r}).") from error
        except Exception as error:
            raise unreadable(path, error) from error
        check_configuration(path, state)
        return state

    stock_ensemble: Callable[..., Any] = checkpoint_utils.load_model_ensemble_and_task

    @functools.wraps(stock_ensemble)
    def load_model_ensemble_and_task(*args: Any, **kwargs: Any) -> Any:
        try:
            return stock_ensemble(*args, **kwargs)
        except OSError as error:  # a missing file, which fairseq's message names
            raise UserError(f"--path: {error}.") from error
        except RuntimeError as error:
            lines = [line.strip() for line in str(error).splitlines()]
            if not lines or not lines[0].startswith("Error(s) in loading state_dict"):
                raise
            raise UserError(
                "--path: the parameters are of another model than the settings say, those of "
                f"--model-overrides included ({lines[min(1, len(lines) - 1)][:200]})."
            ) from error

    checkpoint_utils.load_checkpoint_to_cpu = load_checkpoint_to_cpu
    checkpoint_utils.load_model_ensemble_and_task = load_model_ensemble_and_task


@contextmanager
def _safe_loader() -> Iterator[None]:
    """fairseq's ``torch.load`` is safe by torch's default, which a variable turns off: not here."""
    unsafe = os.environ.pop("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", None)
    try:
        yield
    finally:
        if unsafe is not None:
            os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = unsafe


def _unpack_inside() -> None:
    """``from_pretrained`` unpacks archives: no member may leave their folder, none is a device."""
    from fairseq import file_utils

    stock: Callable[..., Any] = file_utils.load_archive_file

    @functools.wraps(stock)
    def load_archive_file(archive_file: str) -> Any:
        inside = getattr(tarfile, "data_filter", None)
        if inside is None:  # Python 3.11.3, 3.10.11 and older
            if os.path.isdir(archive_file):
                return stock(archive_file)
            raise UserError(
                f"{archive_file}: this Python ({platform.python_version()}) cannot unpack archives "
                "safely: unpack it yourself and name the folder, or take a newer Python"
            )
        before = tarfile.TarFile.__dict__.get("extraction_filter")
        tarfile.TarFile.extraction_filter = staticmethod(inside)
        try:
            return stock(archive_file)
        except tarfile.TarError as error:
            raise UserError(f"{archive_file}: cannot be unpacked safely ({error}).") from error
        finally:
            if before is None:
                del tarfile.TarFile.extraction_filter
            else:
                tarfile.TarFile.extraction_filter = before

    file_utils.load_archive_file = load_archive_file


def _explain_failed_resumption() -> None:
    """Continue from the newest checkpoint that can be read; say in one sentence why none can."""
    from fairseq.trainer import Trainer

    stock: Callable[..., Any] = Trainer.load_checkpoint

    @functools.wraps(stock)
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

    Trainer.load_checkpoint = load_checkpoint


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


def _save_checkpoints_atomically() -> None:
    """A failed write (full disk) leaves the checkpoints saved before it whole."""
    from fairseq import checkpoint_utils
    from fairseq.file_io import PathManager

    stock_save: Callable[..., None] = checkpoint_utils.torch_persistent_save
    stock_copy: Callable[..., bool] = PathManager.copy

    @functools.wraps(stock_save)
    def torch_persistent_save(obj: Any, filename: str, async_write: bool = False) -> None:
        if async_write:
            return stock_save(obj, filename, async_write)
        # fairseq's own tries again into the half-written file
        try:
            with open(filename + ".tmp", "wb") as part:
                torch.save(obj, part)
            os.replace(filename + ".tmp", filename)
        except (OSError, RuntimeError) as error:
            raise _unwritable(filename, error) from error
        return None

    def copy(src_path: str, dst_path: str, overwrite: bool = False) -> bool:
        part = dst_path + ".tmp"
        try:
            copied = stock_copy(src_path, part, True)
            os.replace(part, dst_path)
        except OSError as error:
            raise _unwritable(dst_path, error) from error
        return bool(copied)

    checkpoint_utils.torch_persistent_save = torch_persistent_save
    PathManager.copy = staticmethod(copy)


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
