"""Reads fairseq's checkpoints safely, and explains in one sentence what is wrong."""

from __future__ import annotations

import logging
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ..compat import POSITION_MARKER, allow_fairseq_checkpoints
from ..errors import UserError
from .literals import check_configuration

LAST = "checkpoint_last.pt"

logger = logging.getLogger(__name__)


class UnreadableCheckpoint(UserError):
    """Raised for an existing file that is not a complete checkpoint of fairseq."""


def load_checkpoint(path: str, *, mmap: bool = False) -> dict[str, Any]:
    """Loads a fairseq checkpoint to the CPU through torch's safe loader.

    Args:
        path: the file
        mmap: read tensors only when they are used

    Raises:
        UserError: missing, empty, truncated, not a fairseq checkpoint, or with a program in its
            configuration
    """
    allow_fairseq_checkpoints()
    check_checkpoint_file(path)
    try:
        # before 1.6 torch saved another format, which it reads whole
        mapped = mmap and zipfile.is_zipfile(path)
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except Exception as error:
        raise unreadable(path, error) from error
    check_parts(path, state)
    check_configuration(path, state)
    return state


def check_parts(path: str, state: Any) -> None:
    """
    Raises:
        UserError: a file has no parameters by name, so that it is no checkpoint
    """
    if not isinstance(state, dict) or "model" not in state:
        raise UnreadableCheckpoint(f"{path}: is not a fairseq checkpoint (it has no 'model').")
    if not isinstance(state["model"], Mapping):
        raise UnreadableCheckpoint(
            f"{path}: is not a fairseq checkpoint (its 'model' is a "
            f"{type(state['model']).__name__}, not parameters by name)."
        )
    if not all(isinstance(value, torch.Tensor) for value in state["model"].values()):
        raise UnreadableCheckpoint(
            f"{path}: is not a fairseq checkpoint (its 'model' has values that are not tensors)."
        )
    for part in ("cfg", "extra_state"):
        if not isinstance(state.get(part) or {}, Mapping):
            raise UnreadableCheckpoint(
                f"{path}: is not a fairseq checkpoint (its {part!r} is a "
                f"{type(state[part]).__name__}, not settings by name)."
            )


def check_settings(path: str) -> None:
    """
    Raises:
        UserError: a checkpoint has no name of a model, so none can be built
    """
    state = load_checkpoint(path, mmap=True)
    if state.get("args") is None and (state.get("cfg") or {}).get("model") is None:
        raise UserError(
            f"{path}: has no settings of its model (cfg, args), which cannot be built without them;"
            " start from its parameters with fairseq-train --restore-file, or take the checkpoint "
            "that it was made from."
        )


def check_checkpoint_file(path: str) -> None:
    """
    Raises:
        UserError: the file is missing or empty
    """
    if not os.path.isfile(path):
        raise UserError(f"{path}: no such checkpoint.")
    if os.path.getsize(path) == 0:
        raise UnreadableCheckpoint(f"{path}: is empty, not a checkpoint.")


def checkpoint_architecture(path: str) -> str | None:
    """Returns the ``--arch`` of a checkpoint; None if unknown.

    Raises:
        UserError: the file cannot be read as a checkpoint
    """
    state = load_checkpoint(path, mmap=True)
    if state.get("args") is not None:
        return getattr(state["args"], "arch", None)
    return architecture_of((state.get("cfg") or {}).get("model"))


def task_settings(path: str) -> dict[str, Any]:
    """Returns fairseq's settings of a checkpoint's task; the name is ``_name``.

    Raises:
        UserError: the file cannot be read as a checkpoint
    """
    state = load_checkpoint(path, mmap=True)
    cfg = state.get("cfg")
    if cfg is not None:
        task = cfg.get("task") or {}
        return dict(task) if hasattr(task, "keys") else dict(vars(task))
    args = vars(state["args"]) if state.get("args") is not None else {}
    return {**args, "_name": args.get("task")}


def architecture_of(model: Any) -> str | None:
    """Returns the architecture of a model's settings; None if unknown.

    Args:
        model: the part of fairseq's configuration
    """
    return model.get("_name") if hasattr(model, "get") else getattr(model, "_name", None)


def newest_readable(path: str) -> str:
    """Returns `path`, or if unreadable, the newest readable checkpoint beside it, with a warning.

    A mean of checkpoints, or an exported one, has no optimizer's state and is no substitute.

    Raises:
        UserError: neither `path` nor any other checkpoint of its folder can be read
    """
    try:
        load_checkpoint(path, mmap=True)
        return path
    except UnreadableCheckpoint as error:
        others = [str(other) for other in Path(path).parent.glob("checkpoint*.pt")]
        for other in sorted(others, key=os.path.getmtime, reverse=True):
            try:
                state = load_checkpoint(other, mmap=True)
            except UserError:
                continue
            if state.get("last_optimizer_state") is None:
                continue
            logger.warning(f"{error} Continuing from {other}, the newest one that can be read.")
            return other
        raise


def check_finite(name: str, model: Mapping[str, Any]) -> None:
    """Refuses parameters that are not finite, because results would not be finite either.

    Args:
        name: of the checkpoint's file
        model: parameters by name

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


def unreadable(path: str, error: Exception) -> UnreadableCheckpoint:
    """Returns the message for a file that torch could not read."""
    text = str(error).strip()
    reason = f" ({text.splitlines()[0][:200]})" if text else f" ({error!r})"
    if "weights_only" in text:  # torch's message explains unsafe loading
        reason = ""
        if found := re.search(r"GLOBAL ([\w.]+)", text):
            return UnreadableCheckpoint(
                f"{path}: was refused and nothing of it was run: it holds {found[1]}, which is no "
                "plain data and may run a program of the file's author. Take another checkpoint, "
                "from somebody whom you trust."
            )
    return UnreadableCheckpoint(
        f"{path}: cannot be read as a checkpoint; it is truncated or was not written by fairseq"
        f"{reason}."
    )
