"""fairseq's training step with ``--cuda-graphs``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from ..errors import ConfigError
from ..flags import JOINT_LOSSES, STOCK_LOSSES, flag_name
from .graphs import PaddedBatch, StepGraphs


class GraphedTraining:
    """Runs a model's training steps, each shape of batch recorded once."""

    def __init__(self, task: Any, model: Any, criterion: Any, optimizer: Any) -> None:
        self.model, self.criterion, self.optimizer = model, criterion, optimizer
        self.left: bool = task.cfg.left_pad_source
        self.padding_idx: int = task.source_dictionary.pad()
        self._names: list[str] = []  # of the numbers that a step logs
        self._graphs = StepGraphs(self._loss_and_gradients, list(model.parameters()))

    def step(self, sample: dict[str, Any]) -> tuple[Tensor, int, dict[str, Any]]:
        """Returns loss, sample size and what to log, as fairseq's task does."""
        if not self.model.training:
            self.model.train()
        net_input, target = sample["net_input"], sample["target"]
        tokens = net_input["src_tokens"], net_input["prev_output_tokens"], target
        numbers = self._graphs(PaddedBatch.build(*tokens, self.padding_idx, left=self.left))
        if hasattr(self.optimizer, "_needs_sync"):  # gradients to copy into float32
            self.optimizer._needs_sync = True
        size = len(target) if self.criterion.sentence_avg else sample["ntokens"]
        log = {"ntokens": sample["ntokens"], "nsentences": len(target), "sample_size": size}
        log.update(zip(self._names, numbers.unbind(), strict=True))
        return log["loss"], size, log

    def _loss_and_gradients(self, batch: PaddedBatch) -> Tensor:
        net_input = {
            "src_tokens": batch.source,
            "src_lengths": None,  # no model of ours reads them
            "prev_output_tokens": batch.previous,
        }
        sample = {"net_input": net_input, "target": batch.target, "ntokens": 0}
        loss, _, log = self.criterion(self.model, sample)
        self.optimizer.backward(loss)
        self._names = [name for name, value in log.items() if torch.is_tensor(value)]
        return torch.stack([log[name].float() for name in self._names])


# each batch would choose its layers, or run layers again in the backward pass
_NOT_RECORDED = ("encoder_layerdrop", "decoder_layerdrop", "checkpoint_activations")
_OTHER_NUMBERS = ("fp16", "amp", "quantization_config_path")


def refuse_what_cannot_be_recorded(trainer: Any) -> None:
    """
    Raises:
        ConfigError: a training run with ``--cuda-graphs`` and something that a graph cannot do
    """
    refused = next(_not_recorded(trainer), None)
    reason = None
    if not trainer.cuda or trainer.cfg.distributed_training.distributed_world_size > 1:
        reason = "needs one GPU"
    elif not getattr(trainer.get_model().encoder, "runs_in_fixed_shapes", False):
        reason = "is for this plugin's Transformers"
    elif refused:
        reason = f"does not go with {refused}"
    if reason:
        raise ConfigError(f"--cuda-graphs: {reason}; leave the flag out.")


def _not_recorded(trainer: Any) -> Iterator[str]:
    """Yields the flags of a training run with which a graph cannot record a step."""
    cfg, criterion = trainer.cfg, trainer.cfg.criterion._name
    yield from (flag_name(flag) for flag in _NOT_RECORDED if getattr(cfg.model, flag, False))
    # cross aggregation's own, of all layers or of some
    if any(getattr(module, "checkpoint", False) for module in trainer.get_model().modules()):
        yield "--xagg-checkpoint, or checkpoint=true in --encoder-layers-of"
    # a quantizer puts other modules into the model
    yield from (flag_name(flag) for flag in _OTHER_NUMBERS if cfg.common[flag])
    if cfg.task.left_pad_target:
        yield "--left-pad-target"
    if criterion not in JOINT_LOSSES | STOCK_LOSSES:
        yield f"--criterion {criterion}"
    elif criterion in STOCK_LOSSES and getattr(cfg.criterion, "report_accuracy", False):
        yield f"--report-accuracy of {criterion}"
