"""8-bit linear layers for decoding on a CPU."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import torch
from torch import nn

from ..errors import ConfigError

_FLAG = "--int8"


def use_int8(model: Any) -> None:
    """Replaces the linear layers of a Transformer of this plugin by 8-bit ones; applies ``--int8``.

    Weights are rounded to 8 bits once, and inputs at every call ("dynamic quantization" of torch).
    One scale for each row of a matrix instead of one for all was no better: BLEU 38.04 and 38.56
    instead of 38.25 and 38.39 for the models of docs/speed.md.
    Layers stay as they are where a module reads their weights instead of calling them; it names
    them in ``reads_weights``.

    Args:
        model: in evaluation mode, with its trained weights; changed in place

    Raises:
        ConfigError: another model, on a GPU or in half precision, or a torch that cannot do it
    """
    problem = _problem(model)
    if problem:
        raise ConfigError([f"{_FLAG}: {problem}"])
    chosen: set[Any] = {
        f"{path}.{name}" if path else name
        for path, parent in model.named_modules()
        for name, layer in parent.named_children()
        if type(layer) is nn.Linear and name not in getattr(parent, "reads_weights", ())
    }
    if not chosen:
        return  # done before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces that it will move elsewhere
        from torch.ao.quantization import quantize_dynamic

        quantize_dynamic(model, chosen, dtype=torch.qint8, inplace=True)


def _problem(model: Any) -> str | None:
    if not hasattr(model.decoder, "stack"):
        return "is for the Transformers of this plugin; decode this model without it."
    tensor = next(iter(model.parameters()))
    if tensor.device.type != "cpu":
        return f"is for CPUs, and the model is on {tensor.device.type}; give --cpu."
    if tensor.dtype != torch.float32:
        return "makes 8-bit layers of a model in float32; leave --fp16 and --bf16 out."
    if importlib.util.find_spec("torch.ao.quantization") is None:
        return f"torch {torch.__version__} has no dynamic quantization; decode without it."
    return None
