"""Averages the parameters of several checkpoints.

fairseq's own ``scripts/average_checkpoints.py`` is in no installed package and loads with
the unsafe unpickler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..checkpoints.dictionaries import saved_dictionaries, saved_languages
from ..checkpoints.loading import architecture_of, check_finite, load_checkpoint, saved_settings
from ..checkpoints.mechanisms import check_code
from ..checkpoints.names import EPOCH, UPDATE, numbered
from ..errors import UserError, counted


def average_checkpoints(paths: Sequence[Path]) -> dict[str, Any]:
    """Returns the mean parameters of one or more fairseq checkpoints, summed in float64.

    Everything but the parameters comes from the last of ``paths``; the optimizer state is
    dropped and ``averaged_checkpoints`` lists the file names. Integers get the mean rounded
    down, as in fairseq's script.

    Raises:
        UserError: unreadable checkpoints, parameters that are not finite, or different runs
    """
    state, sums = _summed(paths)
    means = {name: _mean(sums[name], len(paths), last) for name, last in state["model"].items()}
    state["model"] = share_equal(means)  # otherwise the file has shared embeddings several times
    state["last_optimizer_state"] = None
    state["averaged_checkpoints"] = [path.name for path in paths]
    return state


def _summed(paths: Sequence[Path]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Returns the last checkpoint, and the sum of each parameter over all, which are alike."""
    sums: dict[str, Tensor] = {}
    first: dict[str, Any] = {}
    dictionaries: dict[str, str] = {}
    for path in paths:
        state = load_checkpoint(str(path))
        check_finite(str(path), state["model"])
        check_code(str(path), state)
        traits = _traits(state)
        first = first or traits
        _check_alike(paths[0], first, path, traits)
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
    return state, sums


def _mean(total: Tensor, count: int, last: Tensor) -> Tensor:
    """Returns a mean in the type of the last checkpoint; integers are rounded down."""
    rounding = None if last.is_floating_point() else "floor"
    mean = torch.div(total, count, rounding_mode=rounding)
    # rounded to bfloat16's 8 bits again, a mean would be hardly better than one checkpoint
    return mean.to(torch.float32 if last.dtype is torch.bfloat16 else last.dtype)


def _traits(state: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what all checkpoints of one training share: name → value.

    The order is that of the messages: an architecture says more than a shape.
    """
    model = saved_settings(state, "model")
    traits = {"--arch": architecture_of(model)}
    languages = saved_languages(state)
    traits |= {"--source-lang": languages[0], "--target-lang": languages[1]}
    # a packed run has the seed of its training among the model's settings alone
    traits["--seed"] = model.get("seed", saved_settings(state, "common").get("seed"))
    for name, tensor in state["model"].items():
        traits[name] = f"{tensor.dtype} {tuple(tensor.shape)}".removeprefix("torch.")
    return traits


def _check_alike(
    first_path: Path, first: Mapping[str, Any], path: Path, traits: Mapping[str, Any]
) -> None:
    for name in {**first, **traits}:
        if first.get(name) != traits.get(name):
            raise UserError(
                f"{first_path} and {path} are of different trainings, and a mean of them means "
                f"nothing: {name} differs ({first.get(name)}, {traits.get(name)})"
            )


def find_checkpoints(folder: Path, *, last: int | None, kind: str | None) -> list[Path]:
    """Returns the last checkpoints of a save folder, of epochs or updates.

    `kind` may be None for a folder with one kind.

    Raises:
        UserError: no `last`, two kinds, or fewer checkpoints than `last`
    """
    if last is None:
        raise UserError(f"{folder}: is a folder; choose checkpoints in it with --last")
    kinds = {"epoch": numbered(folder, EPOCH), "update": numbered(folder, UPDATE)}
    if all(kinds.values()) and kind is None:
        raise UserError(
            f"{folder} has checkpoints of epochs and of updates: "
            "choose --kind epoch or --kind update"
        )
    kind = kind or ("update" if kinds["update"] else "epoch")
    paths = [path for _, path in kinds[kind]]
    if len(paths) < last:
        names = ", ".join(sorted(path.name for path in folder.glob("*.pt"))) or "none"
        raise UserError(
            f"{folder}: has {counted(len(paths), f'{kind} checkpoint')}, not {last}; the "
            f"checkpoints there: {names}"
        )
    return paths[-last:]


def share_equal(model: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns parameters by name; equal ones, such as shared embeddings, are one tensor."""
    shared: dict[str, Tensor] = {}
    for name, tensor in model.items():
        equal = (other for other in shared.values() if torch.equal(other, tensor))
        shared[name] = next(equal, tensor)
    return shared
