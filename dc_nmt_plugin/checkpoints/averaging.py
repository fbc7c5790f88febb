"""Averages the parameters of several checkpoints.

fairseq's own ``scripts/average_checkpoints.py`` is in no installed package and loads with
the unsafe unpickler.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import UserError
from .dictionaries import saved_dictionaries
from .loading import check_finite, load_checkpoint, saved_architecture
from .names import EPOCH, UPDATE, numbered
from .plain import share_equal


def average_checkpoints(paths: Sequence[Path]) -> dict[str, Any]:
    """Returns the mean parameters of fairseq checkpoints, summed in float64.

    Everything but the parameters comes from the last of ``paths``; the optimizer state is
    dropped and ``averaged_checkpoints`` lists the file names. Integers get the mean rounded
    down, as in fairseq's script.

    Raises:
        UserError: no or unreadable checkpoints, the same file twice, parameters that are not
            finite, or checkpoints of different architectures, dictionaries, parameter names or
            shapes.
    """
    if not paths:
        raise UserError("no checkpoints to average")
    if len({path.resolve() for path in paths}) < len(paths):
        raise UserError("a checkpoint is given twice: " + ", ".join(map(str, paths)))
    state: dict[str, Any] = {}
    sums: dict[str, Tensor] = {}
    dictionaries: dict[str, str] = {}
    for path in paths:
        previous, state = state, load_checkpoint(str(path))
        check_finite(str(path), state["model"])
        if previous:
            _check_same_model(paths[0], previous, path, state)
        digests = saved_dictionaries(state)  # none in a checkpoint of stock fairseq
        if digests and dictionaries and digests != dictionaries:
            raise UserError(
                f"{paths[0]} and {path} were trained with different dictionaries: the same numbers "
                "are other words, and a mean means nothing."
            )
        dictionaries = digests or dictionaries
        for name, tensor in state["model"].items():
            wide = tensor.double() if tensor.is_floating_point() else tensor.long()
            sums[name] = sums[name] + wide if name in sums else wide
    means = {}
    for name, tensor in state["model"].items():
        rounding = None if tensor.is_floating_point() else "floor"
        mean = torch.div(sums[name], len(paths), rounding_mode=rounding)
        # rounded to bfloat16's 8 bits again, a mean would be hardly better than one checkpoint
        kind = torch.float32 if tensor.dtype is torch.bfloat16 else tensor.dtype
        means[name] = mean.to(kind)
    state["model"] = share_equal(means)  # otherwise the file has shared embeddings several times
    state["last_optimizer_state"] = None
    state["averaged_checkpoints"] = [path.name for path in paths]
    return state


def _check_same_model(
    first_path: Path, first: dict[str, Any], path: Path, state: dict[str, Any]
) -> None:
    architectures = saved_architecture(first), saved_architecture(state)
    if architectures[0] != architectures[1]:
        raise UserError(f"{first_path} is a {architectures[0]} but {path} is a {architectures[1]}")
    kept, other = first["model"], state["model"]
    unpaired = sorted(kept.keys() ^ other.keys())
    if unpaired:
        raise UserError(f"only one of {first_path} and {path} has the parameter {unpaired[0]}")
    for name, tensor in kept.items():
        if tensor.shape != other[name].shape:
            raise UserError(
                f"{name} has shape {list(tensor.shape)} in {first_path} "
                f"but {list(other[name].shape)} in {path}"
            )


def find_checkpoints(
    folder: Path,
    *,
    last: int | None = None,
    kind: str | None = None,
) -> list[Path]:
    """Chooses checkpoints of a save folder: the last ones.

    Args:
        folder: fairseq's ``--save-dir``
        last: number of checkpoints
        kind: epoch or update; None if the folder has one kind
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder of checkpoints")
    epochs, of_updates = numbered(folder, EPOCH), numbered(folder, UPDATE)
    if last is None:
        raise UserError(f"{folder}: is a folder; choose checkpoints in it with --last")
    if epochs and of_updates and kind is None:
        raise UserError(
            f"{folder} has checkpoints of epochs and of updates: "
            "choose --kind epoch or --kind update"
        )
    kind = kind or ("update" if of_updates else "epoch")
    paths = [path for _, path in (of_updates if kind == "update" else epochs)]
    if len(paths) < last:
        raise UserError(f"{folder}: has {len(paths)} {kind} checkpoints, {last} are asked for")
    return paths[-last:]
