"""Makes a checkpoint small and free of its machine, so that it can be given to others."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..errors import UserError
from .plain import plain

# groups of fairseq's settings that say where and how a training ran, not what the model is
_OF_TRAINING = (
    *("common", "common_eval", "distributed_training", "dataset", "optimization", "checkpoint"),
    *("bmuf", "generation", "eval_lm", "interactive", "ema"),
)


def share_equal(model: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns parameters by name; equal ones, such as shared embeddings, are one tensor."""
    found: dict[str, Tensor] = {}
    for name, tensor in model.items():
        alike = (other for other in found.values() if other.shape == tensor.shape)
        found[name] = next((other for other in alike if torch.equal(other, tensor)), tensor)
    return found


def portable(state: Mapping[str, Any], name: str, data: str) -> dict[str, Any]:
    """Returns a checkpoint in half precision that names no place of the machine of its training.

    It has no optimizer's state, and fairseq's defaults for all settings but those of model and
    task.

    Args:
        state: content of a checkpoint
        name: of its file, for messages
        data: the folder of its text, for the settings

    Raises:
        UserError: a parameter is too large for half precision
    """
    model = {}
    for key, tensor in state["model"].items():
        model[key] = tensor.half() if tensor.is_floating_point() else tensor
        if tensor.is_floating_point() and not torch.isfinite(model[key]).all():
            raise UserError(f"{name}: its parameter {key} is too large for half precision.")
    defaults = _defaults()
    cfg = dict(state["cfg"]) if state.get("cfg") else None
    if cfg:
        cfg |= {group: values for group, values in defaults.items() if group in cfg}
        cfg["model"] = _without_places(cfg["model"], defaults, data)
        cfg["task"] = _without_places(plain(cfg["task"]), {}, data)
    args = state.get("args")
    extra = {key: value for key, value in state["extra_state"].items() if key != "metrics"}
    return {
        "args": args and _without_places(args, defaults, data),
        "cfg": cfg,
        "model": share_equal(model),
        "optimizer_history": state["optimizer_history"],
        "extra_state": extra,
        "last_optimizer_state": None,
    }


def _defaults() -> dict[str, dict[str, Any]]:
    """Returns fairseq's defaults of each group in :data:`_OF_TRAINING`."""
    from fairseq.dataclass.configs import FairseqConfig
    from omegaconf import OmegaConf

    # whole, because its groups name each other's values
    config = plain(OmegaConf.structured(FairseqConfig))
    return {name: config[name] for name in _OF_TRAINING}


def _without_places(settings: Any, defaults: Mapping[str, Mapping[str, Any]], data: str) -> Any:
    """Returns settings, a namespace or a mapping, with those defaults and that folder of text."""
    is_namespace = isinstance(settings, argparse.Namespace)
    found = dict(vars(settings) if is_namespace else settings)
    for group in defaults.values():
        found |= {key: value for key, value in group.items() if key in found and key != "seed"}
    if "data" in found:
        found["data"] = data
    return argparse.Namespace(**found) if is_namespace else found
