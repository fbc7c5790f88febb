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
from .dictionaries import check_same_dictionaries, saved_dictionaries
from .loading import check_finite, load_checkpoint
from .names import BEST, EPOCH, UPDATE, numbered
from .portable import share_equal


def average_checkpoints(paths: Sequence[Path]) -> dict[str, Any]:
    """Returns the mean parameters of fairseq checkpoints, summed in float64.

    Everything but the parameters comes from the last of ``paths``; the optimizer state is
    dropped and ``averaged_checkpoints`` lists the file names. Integer tensors get the mean
    rounded down, as in fairseq's script; boolean tensors have to agree.

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
    dictionaries: dict[str, dict[str, str]] = {}
    for path in paths:
        previous, state = state, load_checkpoint(str(path))
        dictionaries[str(path)] = saved_dictionaries(state)
        check_same_dictionaries(dictionaries)
        check_finite(str(path), state["model"])
        if previous:
            _require_same_model(paths[0], previous, path, state)
        for name, tensor in state["model"].items():
            wide = tensor.to(_accumulator(tensor))
            if name not in sums:
                sums[name] = wide.clone()
            elif tensor.dtype is not torch.bool:
                sums[name] += wide
            elif not torch.equal(sums[name], tensor):
                raise UserError(f"boolean tensor {name} differs between {paths[0]} and {path}")
    means = {
        name: _mean(sums[name], len(paths)).to(tensor.dtype)
        for name, tensor in state["model"].items()
    }
    state["model"] = share_equal(means)  # otherwise the file has shared embeddings several times
    state["last_optimizer_state"] = None
    state["averaged_checkpoints"] = [path.name for path in paths]
    return state


def find_checkpoints(
    folder: Path,
    *,
    last: int | None = None,
    best: int | None = None,
    updates: tuple[int, int] | None = None,
    kind: str | None = None,
) -> list[Path]:
    """Chooses checkpoints of a save folder by exactly one of last, best and updates."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder of checkpoints")
    if best is not None:
        found = numbered(folder, BEST)
        if found and _best_is_highest(found[-1][1]):
            found.reverse()
        return _exactly(folder, "best", found[:best], best)
    if updates is not None:
        first, final = updates
        chosen = [path for number, path in numbered(folder, UPDATE) if first <= number <= final]
        if not chosen:
            raise UserError(f"{folder}: no checkpoint_*_U.pt with U in {first}:{final}")
        return chosen
    if last is None:
        raise UserError(
            f"{folder}: is a folder; choose checkpoints in it with --last, --best or --updates"
        )
    kinds = {"epoch": numbered(folder, EPOCH), "update": numbered(folder, UPDATE)}
    if kind is None:
        present = [name for name, found in kinds.items() if found]
        if len(present) > 1:
            raise UserError(
                f"{folder} has checkpoints of epochs and of updates: "
                "choose --kind epoch or --kind update"
            )
        kind = present[0] if present else "epoch"
    return _exactly(folder, kind, kinds[kind][-last:], last)


def _accumulator(tensor: Tensor) -> torch.dtype:
    if tensor.dtype is torch.bool:
        return torch.bool
    return torch.float64 if tensor.is_floating_point() else torch.int64


def _mean(total: Tensor, count: int) -> Tensor:
    if total.dtype is torch.bool:
        return total
    if total.is_floating_point():
        return total / count
    return torch.div(total, count, rounding_mode="floor")


def _require_same_model(
    first_path: Path, first: dict[str, Any], path: Path, state: dict[str, Any]
) -> None:
    names = (_architecture(first), _architecture(state))
    if names[0] != names[1]:
        raise UserError(f"{first_path} is a {names[0]} but {path} is a {names[1]}")
    kept, other = first["model"], state["model"]
    if unpaired := sorted(kept.keys() ^ other.keys()):
        raise UserError(f"only one of {first_path} and {path} has the parameter {unpaired[0]}")
    for name, tensor in kept.items():
        if tensor.shape != other[name].shape:
            raise UserError(
                f"{name} has shape {list(tensor.shape)} in {first_path} "
                f"but {list(other[name].shape)} in {path}"
            )


def _architecture(state: dict[str, Any]) -> str | None:
    config = state.get("cfg")
    if config:
        return _get(_get(config, "model"), "_name") or _get(_get(config, "model"), "arch")
    return _get(state.get("args"), "arch")


def _get(container: Any, key: str) -> Any:
    """Returns a value of a configuration: a dictionary, an omegaconf container or a namespace."""
    return container.get(key) if hasattr(container, "get") else getattr(container, key, None)


def _best_is_highest(path: Path) -> bool:
    checkpoint = _get(load_checkpoint(str(path)).get("cfg"), "checkpoint")
    return bool(_get(checkpoint, "maximize_best_checkpoint_metric"))


def _exactly(folder: Path, kind: str, found: list[tuple[float, Path]], wanted: int) -> list[Path]:
    if len(found) < wanted:
        raise UserError(f"{folder}: has {len(found)} {kind} checkpoints, {wanted} are asked for")
    return [path for _, path in found]
