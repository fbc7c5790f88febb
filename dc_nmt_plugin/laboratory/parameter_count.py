"""Builds models without memory and counts their parameters."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.models import MODEL_REGISTRY
from torch import nn

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
