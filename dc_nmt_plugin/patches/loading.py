"""Patches of how fairseq loads checkpoints: safely, and with a clear error message."""

from __future__ import annotations

import os
import platform
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..checkpoints.dictionaries import check_dictionaries, size_problem
from ..checkpoints.literals import check_configuration, plain_value
from ..checkpoints.loading import check_checkpoint_file, check_settings, load_checkpoint, unreadable
from ..compat import DEAD_PARAMETERS, allow_fairseq_checkpoints
from ..errors import UserError
from ..gate.data import read_dictionary
from .patch import changes, replaces


@changes(
    "torch.serialization:add_safe_globals",
    reason="torch's safe loader refuses the plain classes that fairseq's checkpoints contain",
    since="torch 2.6",
    test="tests/system/test_loading.py",
    loading=True,
)
def allow_checkpoints() -> None:
    allow_fairseq_checkpoints()


@changes(
    "fairseq:eval",
    reason="builders of fairseq evaluate strings of a checkpoint's configuration, which a stranger "
    "may have written",
    since="fairseq 0.12.2",
    test="tests/system/test_strangers.py",
    loading=True,
)
def evaluate_plain_values() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("fairseq.") and not hasattr(module, "eval"):
            setattr(module, "eval", plain_value)  # noqa: B010


@replaces(
    "fairseq.checkpoint_utils:load_checkpoint_to_cpu",
    "c29761d99de7",
    reason="a checkpoint that cannot be loaded, or would run a program, is named in a sentence",
    since="fairseq 0.12.2",
    test="tests/system/test_refused_files.py",
    loading=True,
)
def load_safely(stock: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
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

    return load_checkpoint_to_cpu


@contextmanager
def _safe_loader() -> Iterator[None]:
    """Ignores TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD, which would switch off torch's safe loader."""
    unsafe = os.environ.pop("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", None)
    try:
        yield
    finally:
        if unsafe is not None:
            os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = unsafe


@replaces(
    "fairseq.checkpoint_utils:load_model_ensemble_and_task",
    "8eb71b6f0a91",
    reason="a missing file and parameters of another model end in a traceback; other dictionaries "
    "of the same size give wrong words; a file of embeddings is read for nothing",
    since="fairseq 0.12.2",
    test="tests/system/test_dictionaries.py",
    loading=True,
)
def explain_loading(stock: Callable[..., Any]) -> Callable[..., Any]:
    def load_model_ensemble_and_task(
        filenames: list[str],
        arg_overrides: dict[str, Any] | None = None,
        task: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        # they are in the checkpoint
        overrides = {
            "encoder_embed_path": None,
            "decoder_embed_path": None,
            **(arg_overrides or {}),
        }
        paths = [path for path in filenames if os.path.isfile(path)]
        try:
            for path in paths:
                check_settings(path)
                if task is not None:
                    check_dictionaries(path, task)
            models, cfg, found = stock(filenames, overrides, task, *args, **kwargs)
            if task is None:
                for path in paths:
                    check_dictionaries(path, found)
            return models, cfg, found
        except OSError as error:  # a missing file, which fairseq's message names
            raise UserError(f"--path: {error}.") from error
        except RuntimeError as error:
            lines = [line.strip() for line in str(error).splitlines()]
            if not lines or not lines[0].startswith("Error(s) in loading state_dict"):
                raise
            sizes = (size_problem(path, task) for path in paths if task is not None)
            if problem := next(filter(None, sizes), None):
                raise UserError(problem) from error
            raise UserError(
                "--path: the parameters are of another model than the settings say, those of "
                f"--model-overrides included ({lines[min(1, len(lines) - 1)][:200]})."
            ) from error

    return load_model_ensemble_and_task


@replaces(
    "fairseq.checkpoint_utils:load_ema_from_checkpoint",
    "cdbd0651ab00",
    reason="--ema-seed-model of a file without a moving average, or that is refused, ends in a "
    "traceback",
    since="fairseq 0.12.2",
    test="tests/system/test_damaged.py",
)
def explain_moving_average(stock: Callable[..., Any]) -> Callable[..., Any]:
    def load_ema_from_checkpoint(fpath: str) -> Any:
        if not (load_checkpoint(fpath).get("extra_state") or {}).get("ema"):
            raise UserError(
                f"--ema-seed-model: {fpath} has no moving average of parameters; give a checkpoint "
                "of a run with --store-ema, or leave the flag out."
            )
        return stock(fpath)

    return load_ema_from_checkpoint


@replaces(
    "fairseq.data.dictionary:Dictionary.load",
    "026a95960664",
    reason="a dictionary that cannot be read (<unk> in it, a word twice) ends in a traceback where "
    "no data were checked before: fairseq-preprocess --srcdict, from_pretrained",
    since="fairseq 0.12.2",
    test="tests/system/test_dictionaries.py",
    loading=True,
)
def explain_dictionaries(stock: Callable[..., Any]) -> Callable[..., Any]:
    def load(cls: Any, f: Any, add_special_symbols: bool = True) -> Any:
        try:
            return stock(cls, f, add_special_symbols)
        except Exception:
            if add_special_symbols and isinstance(f, str) and os.path.isfile(f):
                read_dictionary(f)  # raises the sentence
            raise

    return load


@replaces(
    "fairseq.file_utils:load_archive_file",
    "b22d103dec9c",
    reason="from_pretrained unpacks archives whose members may leave their folder",
    since="Python < 3.14, whose tarfile does not filter by default",
    test="tests/system/test_strangers.py",
    loading=True,
)
def unpack_inside(stock: Callable[..., Any]) -> Callable[..., Any]:
    def load_archive_file(archive_file: str) -> Any:
        inside = getattr(tarfile, "data_filter", None)
        if inside is None:  # Python 3.11.3 and older
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

    return load_archive_file


@changes(
    "fairseq.modules.transformer_layer:TransformerEncoderLayerBase._load_from_state_dict",
    reason="checkpoints of fairseq 0.12.2's own Transformer have copies of each encoder layer's "
    "parameters, which later versions refuse",
    since="fairseq-fixed 0.12.3.1, ve-fairseq 0.12.3",
    test="tests/system/test_old_checkpoints.py",
    loading=True,
)
def load_without_copies() -> None:
    from fairseq.modules.transformer_layer import TransformerEncoderLayerBase

    def load(self: Any, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        for name in DEAD_PARAMETERS:
            state_dict.pop(prefix + name, None)
        torch.nn.Module._load_from_state_dict(self, state_dict, prefix, *args)

    TransformerEncoderLayerBase._load_from_state_dict = load
