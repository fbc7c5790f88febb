"""Refuses training runs that ``--cuda-graphs`` cannot record."""

from __future__ import annotations

from typing import Any

from ...compat.dictionaries import when_training_begins
from ...errors import ConfigError
from ...flags import flag_name
from ...names import JOINT_LOSSES
from .decoder import STOCK_LOSSES
from .encoder import TransformerEncoder

# each batch would choose its layers, or run layers again in the backward pass
_NOT_RECORDED = ("encoder_layerdrop", "decoder_layerdrop", "checkpoint_activations")


def refuse_what_cannot_be_recorded(trainer: Any) -> None:
    """
    Raises:
        ConfigError: ``--cuda-graphs`` with something that a graph cannot do
    """
    cfg = trainer.cfg
    if not getattr(cfg.task, "cuda_graphs", False):
        return
    refused = [flag_name(flag) for flag in _NOT_RECORDED if getattr(cfg.model, flag, False)]
    # cross aggregation's own, of all layers or of some
    if any(getattr(module, "checkpoint", False) for module in trainer.get_model().modules()):
        refused.append("--xagg-checkpoint, or checkpoint=true in --encoder-layers-of")
    # a quantizer puts other modules into the model
    common = ("fp16", "amp", "quantization_config_path")
    refused += [flag_name(flag) for flag in common if cfg.common[flag]]
    refused += ["--left-pad-target"] if cfg.task.left_pad_target else []
    criterion = cfg.criterion._name
    if criterion not in JOINT_LOSSES | STOCK_LOSSES:
        refused.append(f"--criterion {criterion}")
    elif criterion in STOCK_LOSSES and getattr(cfg.criterion, "report_accuracy", False):
        refused.append(f"--report-accuracy of {criterion}")
    reason = None
    if not trainer.cuda or cfg.distributed_training.distributed_world_size > 1:
        reason = "needs one GPU"
    elif not isinstance(trainer.get_model().encoder, TransformerEncoder):
        reason = "is for this plugin's Transformers"
    elif refused:
        reason = f"does not go with {refused[0]}"
    if reason:
        raise ConfigError(f"--cuda-graphs: {reason}; leave the flag out.")


when_training_begins.insert(0, refuse_what_cannot_be_recorded)  # before a record is written
