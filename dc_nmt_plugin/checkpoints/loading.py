"""Reads fairseq's checkpoints safely, and explains in one sentence what is wrong."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import zipfile
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from ..errors import UserError
from ..flags import MECHANISM_FOLDERS, USER_DIR_VARIABLE, value_of
from ..modules.mechanisms import mechanisms

# endings of unused names that fairseq 0.12.2 saves with sinusoidal positions
POSITION_MARKER = "._float_tensor"
# and these parameters of an encoder layer
DEAD_PARAMETERS = (
    "in_proj_weight",
    "in_proj_bias",
    "out_proj_weight",
    "out_proj_bias",
    "fc1_weight",
    "fc1_bias",
    "fc2_weight",
    "fc2_bias",
)


def load_checkpoint(path: str, *, mmap: bool = False) -> dict[str, Any]:
    """Loads a fairseq checkpoint to the CPU through torch's safe loader.

    With `mmap`, tensors are read only when they are used.

    Raises:
        UserError: missing, empty, truncated, or not a fairseq checkpoint
    """
    allow_fairseq_checkpoints()
    try:
        # before 1.6 torch saved another format, which it reads whole
        mapped = mmap and zipfile.is_zipfile(path)
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except Exception as error:
        raise unreadable(path, error) from error
    model = state.get("model") if isinstance(state, dict) else None
    if not isinstance(model, Mapping) or not model:
        raise UserError(f"{path}: is not a fairseq checkpoint: it has no parameters by name.")
    return dict(state)


def allow_fairseq_checkpoints() -> None:
    """Lets torch's safe loader accept the few plain classes in fairseq's checkpoints."""
    from fairseq.distributed.utils import _TensorPlaceholder
    from omegaconf import DictConfig, ListConfig
    from omegaconf.base import ContainerMetadata, Metadata
    from omegaconf.nodes import AnyNode, BooleanNode, EnumNode, FloatNode, IntegerNode, StringNode

    nodes = [AnyNode, BooleanNode, EnumNode, FloatNode, IntegerNode, StringNode]
    config = [argparse.Namespace, DictConfig, ListConfig, ContainerMetadata, Metadata, *nodes]
    plain = [defaultdict, dict, list, int, float, str, bool, Any, _TensorPlaceholder]
    # Validation losses and BLEU statistics may be numpy scalars. numpy 2 moved the functions that
    # unpickle them, and a checkpoint may come from either version.
    module = importlib.import_module(np.zeros(0).__reduce__()[0].__module__)
    scalars: list[Any] = [np.ndarray, np.dtype]
    scalars += [type(np.dtype(kind)) for kind in ("f4", "f8", "i4", "i8")]
    for core in ("core", "_core"):
        for function in ("scalar", "_reconstruct"):
            scalars.append((getattr(module, function), f"numpy.{core}.multiarray.{function}"))
    torch.serialization.add_safe_globals([*config, *plain, *scalars])


def unreadable(path: str, error: Exception) -> UserError:
    """Returns the message for a file that torch could not read."""
    if not os.path.isfile(path):
        return UserError(f"{path}: no such checkpoint.")
    text = str(error).strip()
    refused = re.search(r"GLOBAL ([\w.]+)", text)
    if refused and "weights_only" in text:  # torch's own message explains unsafe loading
        return UserError(
            f"{path}: was refused and nothing of it was run: it holds {refused[1]}, which is no "
            "plain data and may run a program of the file's author. Take another checkpoint, "
            "from somebody whom you trust."
        )
    if isinstance(error, KeyError):
        return UserError(
            f"{path}: is no whole checkpoint of fairseq: parts such as optimizer_history and "
            f"extra_state are missing ({error})."
        )
    reason = text.partition("\n")[0][:200]
    if "weights_only" in text:
        reason = "torch's safe loader refuses it"
    return UserError(
        f"{path}: cannot be read as a checkpoint; it is truncated or was not written by fairseq "
        f"({reason})."
    )


def check_finite(name: str, model: Mapping[str, Any]) -> None:
    """Refuses parameters that are not finite; `name` is that of the checkpoint's file.

    Raises:
        UserError: naming one
    """
    for key, tensor in model.items():
        marker = key.endswith(POSITION_MARKER)  # uninitialised memory
        if not marker and tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise UserError(
                f"{name}: its parameter {key} has values that are not numbers (NaN, infinity): the "
                "training has diverged; take an earlier checkpoint."
            )


# -- settings --------------------------------------------------------------------------------


def architecture_of(model: Any) -> str | None:
    """Returns the architecture of a model's settings, a part of fairseq's configuration."""
    return value_of(model, "_name") or value_of(model, "arch")


def check_mechanisms(model: Any) -> None:
    """Checks that code of the user's own, which settings or a record name, has been imported.

    Raises:
        UserError: a mechanism, or the architecture, is from a folder that nobody has named
    """
    from fairseq.criterions import CRITERION_REGISTRY
    from fairseq.models import ARCH_MODEL_REGISTRY

    known = {*ARCH_MODEL_REGISTRY, *CRITERION_REGISTRY, *(each.name for each in mechanisms())}
    for name, folder in (value_of(model, MECHANISM_FOLDERS) or {}).items():
        if name not in known:
            raise UserError(
                f"the model needs {name!r}, which is code outside this package: give its folder "
                f"with --user-dir {folder}, or in {USER_DIR_VARIABLE}, if you trust that code."
            )


def saved_settings(state: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Returns the settings of the "model" or the "task" in a checkpoint's content, with ``_name``.

    Before version 0.10, fairseq had one namespace for all parts.
    """
    if state.get("cfg"):
        settings = state["cfg"].get(part) or {}
        return dict(settings) if isinstance(settings, Mapping) else dict(vars(settings))
    args = vars(state["args"]) if state.get("args") else {}
    return {**args, "_name": args.get("arch" if part == "model" else part)}


def updates_of(path: str) -> int | None:
    """Returns the updates after which a checkpoint was saved; of a mean, the last one's."""
    history = load_checkpoint(path, mmap=True).get("optimizer_history") or [{}]
    return history[-1].get("num_updates")


def averaged_names(path: str) -> tuple[str, ...]:
    """Returns the names of the checkpoints whose mean a checkpoint is; () for no mean."""
    return tuple(load_checkpoint(path, mmap=True).get("averaged_checkpoints") or ())
