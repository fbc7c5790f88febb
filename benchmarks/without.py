"""Switches off one piece of speed at a time: puts its plain twin in its place, for a benchmark."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch.nn.functional as F
from torch import Tensor

from dc_nmt_plugin.modules.core import dropout
from dc_nmt_plugin.modules.multi_layer_attention import MultiLayerAttention
from dc_nmt_plugin.speed import beam_search, onednn_layers, optimizer_step


class Swap(NamedTuple):
    """Describes an attribute that is replaced: of a module or a class."""

    owner: Any
    name: str
    twin: Any


def everywhere(function: Any, twin: Any) -> list[Swap]:
    """Returns a swap for each module of the package that has imported `function`."""
    modules = [module for name, module in sys.modules.items() if name.startswith("dc_nmt_plugin")]
    return [
        Swap(module, name, twin)
        for module in modules
        for name, value in vars(module).items()
        if value is function
    ]


def plain_add(x: Tensor, y: Tensor, p: float, training: bool) -> Tensor:
    return x + F.dropout(y, p, training)


PIECES: dict[str, Callable[[], list[Swap]]] = {
    # of training
    "dropout": lambda: [
        *everywhere(dropout.dropout, F.dropout),
        *everywhere(dropout.add_dropped, plain_add),
    ],
    "optimizer": lambda: [
        Swap(optimizer_step, name, lambda *_: None)  # leaves the work to fairseq
        for name in (
            "step_of_adam_on_a_gpu",
            "clear_gradients",
            "gradients_to_float32",
            "parameters_from_float32",
            "clip",
        )
    ],
    # of both
    "onednn": lambda: everywhere(onednn_layers.onednn_layers, lambda parts: nullcontext()),
    # of decoding
    "beam_search": lambda: [
        Swap(beam_search.BeamSearchGenerator, "_is_plain", lambda self, net_input: False)
    ],
    "joint_attention": lambda: [  # decode as in training
        Swap(MultiLayerAttention, "project_sums", MultiLayerAttention.project_source),
        Swap(MultiLayerAttention, "_attend_to_sums", MultiLayerAttention._attend),
    ],
}


def switch_off(piece: str) -> None:
    """Puts the twin of a piece in its place, in this process."""
    for owner, name, twin in PIECES[piece]():
        setattr(owner, name, twin)
