"""Makes a checkpoint small, and free of the machine of its training."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any

import torch
from omegaconf import OmegaConf
from torch import Tensor

from ...checkpoints.plain import plain
from ...errors import UserError
from ...flags import MECHANISM_FOLDERS
from ..averaging import share_equal


def portable(state: Mapping[str, Any], name: str, data: str) -> dict[str, Any]:
    """Returns a checkpoint in half precision that names no place of the machine of its training.

    It has no optimizer's state, and fairseq's defaults for all settings but those of model and
    task.

    Raises:
        UserError: a parameter is too large for half precision, or the checkpoint is of a fairseq
            before 0.10
    """
    if not state.get("cfg"):
        raise UserError(f"{name}: was written by a fairseq before 0.10, and cannot be kept.")
    extra = {key: value for key, value in state["extra_state"].items() if key != "metrics"}
    return {
        "args": None,
        "cfg": _portable_config(state["cfg"], data),
        "model": share_equal(_in_half_precision(state["model"], name)),
        "optimizer_history": state["optimizer_history"],
        "extra_state": extra,
        "last_optimizer_state": None,
    }


def _in_half_precision(model: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    halves = {}
    for key, tensor in model.items():
        halves[key] = tensor.half() if tensor.is_floating_point() else tensor
        if tensor.is_floating_point() and not torch.isfinite(halves[key]).all():
            raise UserError(f"{name}: its parameter {key} is too large for half precision.")
    return halves


def _portable_config(saved: Mapping[str, Any], data: str) -> dict[str, Any]:
    """Returns fairseq's configuration with its defaults for where and how a training ran."""
    from fairseq.dataclass.configs import FairseqConfig

    config = dict(saved)
    flags = plain(config["model"])  # every flag of the training, those of other groups included
    for group, defaults in plain(OmegaConf.structured(FairseqConfig)).items():
        if not isinstance(defaults, dict):  # model, task and the like
            continue
        config[group] = defaults
        flags.update({key: defaults[key] for key in defaults.keys() & flags if key != "seed"})
    if "data" in flags:
        flags["data"] = data
    # files of embeddings from which the training began: their values are among the parameters
    flags |= {"encoder_embed_path": None, "decoder_embed_path": None}
    folders = flags.get(MECHANISM_FOLDERS) or {}
    if folders:  # by name alone, as other places of that machine
        flags[MECHANISM_FOLDERS] = {key: os.path.basename(folders[key]) for key in folders}
    config["model"] = argparse.Namespace(**flags)
    config["task"] = {**plain(config["task"]), "data": data}
    return config
