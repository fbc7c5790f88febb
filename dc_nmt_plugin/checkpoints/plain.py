"""Makes plain data of what fairseq's checkpoints and settings hold."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
from omegaconf import OmegaConf
from torch import Tensor

from ..errors import UserError


def plain(value: Any) -> Any:
    """Returns `value` as dicts, lists, numbers, text and the same tensors.

    Raises:
        UserError: `value` holds another type
    """
    if OmegaConf.is_config(value):
        return plain(OmegaConf.to_container(value, resolve=True))
    if isinstance(value, argparse.Namespace):
        return plain(vars(value))
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if value is None or isinstance(value, (bool, int, float, str, Tensor)):
        return value
    raise UserError(f"the checkpoint holds a {type(value).__name__}, which is no plain data")
