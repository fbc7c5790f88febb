"""8-bit linear layers for decoding on a CPU."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import torch
from torch import nn

from ...errors import ConfigError


def use_int8(model: Any) -> None:
    """Replaces the linear layers of a Transformer of this plugin by 8-bit ones; applies ``--int8``.

    Weights are rounded to 8 bits once, and inputs at every call ("dynamic quantization" of torch),
    with one scale for a matrix. A layer stays as it is where a module reads its weights instead of
    calling it; the module names it in ``reads_weights``.

    Args:
        model: in evaluation mode, with its trained weights; changed in place

    Raises:
        ConfigError: another model, on a GPU or in half precision, or a torch that cannot do it
    """
    tensor = next(iter(model.parameters()))
    problem = None
    if not hasattr(model.decoder, "stack"):
        problem = "is for the Transformers of this plugin; decode this model without it."
    elif tensor.device.type != "cpu":
        problem = f"is for CPUs, and the model is on {tensor.device.type}; give --cpu."
    elif tensor.dtype != torch.float32:
        problem = "makes 8-bit layers of a model in float32; leave --fp16 and --bf16 out."
    elif importlib.util.find_spec("torch.ao.quantization") is None:
        problem = f"torch {torch.__version__} has no dynamic quantization; decode without it."
    elif not all(each.isfinite().all() for each in model.parameters()):
        problem = "the model's parameters are not numbers (NaN): its training has diverged."
    if problem:
        raise ConfigError([f"--int8: {problem}"])
    chosen: set[Any] = set()
    for path, parent in model.named_modules():
        for name, layer in parent.named_children():
            if type(layer) is nn.Linear and name not in getattr(parent, "reads_weights", ()):
                chosen.add(f"{path}.{name}" if path else name)
    if not chosen:
        return  # done before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces that it will move elsewhere
        from torch.ao.quantization import quantize_dynamic

        quantize_dynamic(model, chosen, dtype=torch.qint8, inplace=True)
