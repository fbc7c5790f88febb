"""Builds models without memory and counts their parameters."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.models import MODEL_REGISTRY
from torch import nn

from ..checkpoints.loading import POSITION_MARKER
from ..models import registry as registry
from ..models.presets import architectures


def dummy_dictionary(size: int) -> Dictionary:
    """Returns a dictionary of `size` types, including fairseq's special symbols."""
    dictionary = Dictionary()
    for number in range(size - len(dictionary)):
        dictionary.add_symbol(f"w{number}")
    return dictionary


def build_without_memory(
    arch: str, settings: Mapping[str, Any], dictionary: Dictionary
) -> nn.Module:
    """Builds an architecture with changed settings on the meta device."""
    architecture = architectures()[arch]
    args = argparse.Namespace(**{**architecture.all_settings(), **settings})
    task = argparse.Namespace(source_dictionary=dictionary, target_dictionary=dictionary)
    with torch.device("meta"):
        return MODEL_REGISTRY[architecture.model].build_model(args, task)


def count(model: nn.Module) -> int:
    """Returns the number of trained parameters; shared parameters count once."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def count_saved(model: Mapping[str, torch.Tensor]) -> int:
    """Returns the number of parameters in a checkpoint of an architecture of this package.

    Tensors that share memory are one parameter. Buffers are numbers of dimension 0, or have a name
    of fairseq's.
    """
    sizes: dict[object, int] = {}
    for name, tensor in model.items():
        if tensor.dim() == 0 or name.endswith((".version", POSITION_MARKER)):
            continue
        place: object = (tensor.data_ptr(), tensor.shape)
        # a mean has equal tensors once, also zeros and ones that no update changed
        if place in sizes and bool((tensor == tensor.flatten()[0]).all()):
            place = name
        sizes[place] = tensor.numel()
    return sum(sizes.values())
