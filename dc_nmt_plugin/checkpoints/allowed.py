"""Facts about fairseq's checkpoints, and the plain classes that the safe loader accepts in them."""

from __future__ import annotations

import argparse
import importlib
from collections import defaultdict
from typing import Any

import numpy as np
import torch

# endings of unused names that fairseq 0.12.2 saves with sinusoidal positions
POSITION_MARKER = "._float_tensor"
# and these parameters of an encoder layer
DEAD_PARAMETERS = (
    *("in_proj_weight", "in_proj_bias", "out_proj_weight", "out_proj_bias"),
    *("fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"),
)


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
