"""Everything that depends on the versions of fairseq, torch and numpy; nothing else does.

:func:`apply` mends, once a process, what the two fairseq distributions (0.12.2, and fairseq-fixed
0.12.3.1) get wrong with today's torch and numpy.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

_applied = False
BUCKETS_WORK = int(np.__version__.split(".")[0]) < 2  # --num-batch-buckets
# what fairseq 0.12.2 saves and nothing uses: names that end so, of sinusoidal positions
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
# What a user of fairseq can do nothing about: category and beginning of each message.
_NOISE = (
    # torch 2.15, of every function that fairseq scripts, at its import
    (FutureWarning, "`torch.jit.script` is deprecated"),
    # torch ≥ 2.0, of the masks that fairseq's own Transformer gives to its attention
    (UserWarning, "Support for mismatched key_padding_mask"),
    # torch ≥ 2.4, of fairseq's training step
    (FutureWarning, r"`torch\.cuda\.amp\.autocast"),
    (FutureWarning, r"`torch\.cuda\.amp\.GradScaler"),
    # torch, of fairseq's pinned memory on a machine without a GPU
    (UserWarning, "'pin_memory' argument is set as true"),
    # Hydra ≥ 1.1, of how fairseq calls it, at the start of every command
    (UserWarning, r"hydra\.experimental\."),
    (UserWarning, r"\s*The version_base parameter is not specified"),
    (UserWarning, r"In 'config': Usage of deprecated keyword"),
    (UserWarning, r"\s*'config' is validated against ConfigStore"),
    (UserWarning, r"\s*The strict flag in the compose API is deprecated"),
)
for _category, _message in _NOISE:
    warnings.filterwarnings("ignore", _message, _category)


def apply() -> None:
    """Mend fairseq in this process; calling it again does nothing."""
    global _applied
    if _applied:
        return
    _applied = True
    allow_fairseq_checkpoints()
    _keep_every_sentence()
    _restore_numpy_names()
    _mend_stock_encoder_layer()
    # cuDNN's attention (half precision, H100 and later) makes a plan for every new shape, and the
    # lengths of sentences are new shapes all the time
    torch.backends.cuda.enable_cudnn_sdp(False)


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
        for name in DEAD_PARAMETERS:
            if name in self._parameters:
                del self._parameters[name]

    def load(self: Any, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        for name in DEAD_PARAMETERS:  # checkpoints saved without this plugin have them
            state_dict.pop(prefix + name, None)
        torch.nn.Module._load_from_state_dict(self, state_dict, prefix, *args)

    layer.__init__ = init
    layer._load_from_state_dict = load


def match_position_buffers(model: torch.nn.Module, state: dict[str, Any]) -> None:
    """fairseq 0.12.2 saves a marker with sinusoidal positions, fairseq-fixed none: a checkpoint
    of either loads in both.

    Args:
        model: that will load `state`
        state: parameters by name, changed in place
    """
    for name in [name for name in state if name.endswith(POSITION_MARKER)]:
        del state[name]
    for name, buffer in model.named_buffers():
        if name.endswith(POSITION_MARKER) and name in model.state_dict():
            state[name] = buffer
