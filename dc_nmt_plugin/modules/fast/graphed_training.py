"""fairseq's training step with ``--cuda-graphs``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .graphs import PaddedBatch, StepGraphs


class GraphedTraining:
    """Runs a model's training steps, each shape of batch recorded once.

    Args:
        task, model, criterion, optimizer: of the training run
    """

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
