"""What ``--cuda-graphs`` cannot train."""

from __future__ import annotations

from typing import Any

from ...compat.dictionaries import when_training_begins
from ...errors import ConfigError
from .encoder import TransformerEncoder

# without a batch's own choice of layers, or a second forward pass
_NOT_RECORDED = (
    "encoder_layerdrop",
    "decoder_layerdrop",
    "checkpoint_activations",
    "xagg_checkpoint",
)


def refuse_what_cannot_be_recorded(trainer: Any) -> None:
    """
    Raises:
        ConfigError: ``--cuda-graphs`` with something that a graph cannot do
    """
    cfg = trainer.cfg
    if not getattr(cfg.task, "cuda_graphs", False):
        return
    refused = [flag for flag in _NOT_RECORDED if getattr(cfg.model, flag, False)]
    refused += [flag for flag in ("fp16", "amp") if cfg.common[flag]]
    refused += ["left_pad_target"] if cfg.task.left_pad_target else []
    reason = None
    if not trainer.cuda or cfg.distributed_training.distributed_world_size > 1:
        reason = "needs one GPU"
    elif not isinstance(trainer.get_model().encoder, TransformerEncoder):
        reason = "is for this plugin's Transformers"
    elif refused:
        reason = f"does not go with --{refused[0].replace('_', '-')}"
    if reason:
        raise ConfigError(f"--cuda-graphs: {reason}; leave the flag out.")


when_training_begins.append(refuse_what_cannot_be_recorded)
