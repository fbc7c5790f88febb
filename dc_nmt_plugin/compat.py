"""Everything that depends on the versions of fairseq, torch and numpy; nothing else does.

:func:`apply` mends, once a process, what the two fairseq distributions (0.12.2, and fairseq-fixed
0.12.3.1) get wrong with today's torch and numpy.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from .errors import UserError

_applied = False


def apply() -> None:
    """Mend fairseq in this process; calling it again does nothing."""
    global _applied
    if _applied:
        return
    _applied = True
    allow_fairseq_checkpoints()
    _keep_every_sentence()
    _restore_numpy_names()
    _load_checkpoints_safely()
    _explain_failed_resumption()
    _save_checkpoints_atomically()
    _mend_stock_encoder_layer()


def allow_fairseq_checkpoints() -> None:
    """Let torch's safe loader accept the few plain classes that fairseq's checkpoints contain."""
    import omegaconf
    from fairseq.distributed.utils import _TensorPlaceholder
    from omegaconf.base import ContainerMetadata, Metadata
    from omegaconf.nodes import AnyNode, BooleanNode, EnumNode, FloatNode, IntegerNode, StringNode

    torch.serialization.add_safe_globals(
        [
            argparse.Namespace,
            omegaconf.DictConfig,
            omegaconf.ListConfig,
            ContainerMetadata,
            Metadata,
            AnyNode,
            BooleanNode,
            EnumNode,
            FloatNode,
            IntegerNode,
            StringNode,
            _TensorPlaceholder,
            defaultdict,
            dict,
            list,
            int,
            float,
            str,
            bool,
            Any,
            *_numpy_scalars(),
        ]
    )


def _numpy_scalars() -> list[Any]:
    # validation losses and BLEU statistics may be numpy scalars; numpy 2 moved what pickles them,
    # and a checkpoint may come from either
    multiarray = np.zeros(0).__reduce__()[0].__module__  # where this numpy keeps it
    module = importlib.import_module(multiarray)
    named = [
        (getattr(module, function), f"numpy.{core}.multiarray.{function}")
        for core in ("core", "_core")
        for function in ("scalar", "_reconstruct")
    ]
    dtypes = [type(np.dtype(kind)) for kind in ("f4", "f8", "i4", "i8")]
    return [*named, np.ndarray, np.dtype, *dtypes]


def _keep_every_sentence() -> None:
    """fairseq-fixed drops the last batch unless its size is a multiple of eight: put it back."""
    from fairseq.data import data_utils

    stock: Callable[..., Sequence[Any]] = data_utils.batch_by_size

    @functools.wraps(stock)
    def batch_by_size(indices: Any, *args: Any, **kwargs: Any) -> list[Any]:
        if not isinstance(indices, np.ndarray):
            indices = np.fromiter(indices, dtype=np.int64, count=-1)
        if len(indices) == 0:
            return []
        batches = list(stock(indices, *args, **kwargs))
        fixed_shapes = kwargs.get("fixed_shapes", args[5] if len(args) > 5 else None)
        batched = sum(len(batch) for batch in batches)
        if fixed_shapes is None and batched < len(indices):
            batches.append(indices[batched:])
        return batches

    data_utils.batch_by_size = batch_by_size


def _restore_numpy_names() -> None:
    """fairseq uses ``np.compat.long`` and ``np.int``, which numpy 2 does not have."""
    if not hasattr(np, "compat"):
        setattr(np, "compat", argparse.Namespace(long=int))  # noqa: B010
    if "int" not in np.__dict__:
        setattr(np, "int", int)  # noqa: B010


def _load_checkpoints_safely() -> None:
    """Say in one sentence what is wrong with a checkpoint that cannot be loaded."""
    from fairseq import checkpoint_utils

    stock: Callable[..., dict[str, Any]] = checkpoint_utils.load_checkpoint_to_cpu

    @functools.wraps(stock)
    def load_checkpoint_to_cpu(path: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        check_checkpoint_file(path)
        try:
            return stock(path, *args, **kwargs)
        except (KeyError, AttributeError, TypeError) as error:
            raise UserError(f"{path}: is not a fairseq checkpoint ({error!r}).") from error
        except Exception as error:
            raise _unreadable(path, error) from error

    stock_ensemble: Callable[..., Any] = checkpoint_utils.load_model_ensemble_and_task

    @functools.wraps(stock_ensemble)
    def load_model_ensemble_and_task(*args: Any, **kwargs: Any) -> Any:
        try:
            return stock_ensemble(*args, **kwargs)
        except OSError as error:  # a missing file, which fairseq's message names
            raise UserError(f"--path: {error}.") from error

    checkpoint_utils.load_checkpoint_to_cpu = load_checkpoint_to_cpu
    checkpoint_utils.load_model_ensemble_and_task = load_model_ensemble_and_task


def _explain_failed_resumption() -> None:
    """Say in one sentence why a training cannot continue from a checkpoint."""
    from fairseq.trainer import Trainer

    stock: Callable[..., Any] = Trainer.load_checkpoint

    @functools.wraps(stock)
    def load_checkpoint(self: Any, filename: str, *args: Any, **kwargs: Any) -> Any:
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


def load_checkpoint(path: str, *, mmap: bool = False) -> dict[str, Any]:
    """A fairseq checkpoint as it was saved, on the CPU, through torch's safe loader.

    Args:
        path: the file
        mmap: read tensors only when they are used

    Raises:
        UserError: missing, empty, truncated, or not a fairseq checkpoint
    """
    allow_fairseq_checkpoints()
    check_checkpoint_file(path)
    try:
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=mmap)
    except Exception as error:
        raise _unreadable(path, error) from error
    if not isinstance(state, dict) or "model" not in state:
        raise UserError(f"{path}: is not a fairseq checkpoint (it has no 'model').")
    return state


def check_checkpoint_file(path: str) -> None:
    """
    Raises:
        UserError: the file is missing or empty
    """
    if not os.path.isfile(path):
        raise UserError(f"{path}: no such checkpoint.")
    if os.path.getsize(path) == 0:
        raise UserError(f"{path}: is empty, not a checkpoint.")


def _unreadable(path: str, error: Exception) -> UserError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
    return UserError(
        f"{path}: cannot be read as a checkpoint; it is truncated or was not written by fairseq "
        f"({reason[:200]})."
    )


def checkpoint_architecture(path: str) -> str | None:
    """The ``--arch`` a checkpoint was trained with; None if it does not say.

    Raises:
        UserError: the file cannot be read as a checkpoint
    """
    state = load_checkpoint(path, mmap=True)
    if state.get("args") is not None:
        return getattr(state["args"], "arch", None)
    model = (state.get("cfg") or {}).get("model")
    if model is None:
        return None
    return model.get("_name") if hasattr(model, "get") else getattr(model, "_name", None)


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
    reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
    return UserError(
        f"{path}: could not be saved ({reason}; {free} MiB free on its disk). The checkpoints "
        "saved before are intact: make room and start the same command again to resume."
    )


def _mend_stock_encoder_layer() -> None:
    """fairseq 0.12.2's own encoder layer takes a fast path in ``eval()`` that ignores padding on
    the left and replaced attention, and registers copies of its parameters for it: our baseline
    for comparison must do neither.
    """
    from fairseq.modules import transformer_layer

    layer = transformer_layer.TransformerEncoderLayerBase
    if "fc1_weight" not in layer.__init__.__code__.co_names:  # fairseq-fixed has no such copies
        return
    stock_init: Callable[..., None] = layer.__init__

    @functools.wraps(stock_init)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        stock_init(self, *args, **kwargs)
        self.can_use_fastpath = False
        for name in _DEAD_PARAMETERS:
            if name in self._parameters:
                del self._parameters[name]

    def load(self: Any, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        for name in _DEAD_PARAMETERS:  # checkpoints saved without this plugin have them
            state_dict.pop(prefix + name, None)
        torch.nn.Module._load_from_state_dict(self, state_dict, prefix, *args)

    layer.__init__ = init
    layer._load_from_state_dict = load


_DEAD_PARAMETERS = (
    "in_proj_weight",
    "in_proj_bias",
    "out_proj_weight",
    "out_proj_bias",
    "fc1_weight",
    "fc1_bias",
    "fc2_weight",
    "fc2_bias",
)


def match_position_buffers(model: torch.nn.Module, state: dict[str, Any]) -> None:
    """fairseq 0.12.2 saves a marker with sinusoidal positions, fairseq-fixed none: a checkpoint
    of either loads in both.

    Args:
        model: that will load `state`
        state: parameters by name, changed in place
    """
    for name in [name for name in state if name.endswith("._float_tensor")]:
        del state[name]
    for name, buffer in model.named_buffers():
        if name.endswith("._float_tensor") and name in model.state_dict():
            state[name] = buffer
