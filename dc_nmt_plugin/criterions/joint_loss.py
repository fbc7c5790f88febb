"""The joint loss of one or several decoders, with every mechanism's diagnostics."""

# fairseq reads the fields' types at run time: no postponed annotations here.
import math
import re
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterionConfig,
    label_smoothed_nll_loss,
)
from fairseq.logging import metrics
from torch import Tensor

from ..flags import PUBLISHED
from ..modules.core.recording import recording
from ..modules.diagnostics import NEEDED, Batch, Totals, diagnose
from ..speed.graphs import shapes_are_fixed


@dataclass
class JointLossConfig(LabelSmoothedCrossEntropyCriterionConfig):
    """Flags of the joint loss: those of fairseq's ``label_smoothed_cross_entropy`` and one more."""

    no_diagnostics: bool = field(
        default=False,
        metadata={"help": "leave out the diagnostics of what the model is made of on validation"},
    )


class DecoderLoss(NamedTuple):
    """Holds sums over the real target tokens, with natural logarithms.

    Attributes:
        loss: label-smoothed cross-entropy, with gradient
        nll: negative log-likelihood
        correct: tokens whose most probable prediction is the target; zero unless counted
    """

    loss: Tensor
    nll: Tensor
    correct: Tensor


@register_criterion("joint_label_smoothed_cross_entropy", dataclass=JointLossConfig)
class JointLossCriterion(FairseqCriterion):
    """J = loss of the main decoder + γ Σ loss of the auxiliary ones (thesis, eq. 4.1), with
    label smoothing in every term. Logits are computed at the real target positions only.

    With one decoder, loss and nll are those of fairseq's ``label_smoothed_cross_entropy``. With
    several, ``loss`` is J. ``nll_loss`` and ``ppl`` are the main decoder's, so that checkpoints
    compare with a baseline's. The auxiliary decoders' are ``aux1_loss`` and so on. On validation
    the accuracy of each decoder is logged, and the diagnostics of every mechanism of the model
    (:mod:`..modules.diagnostics`).
    """

    def __init__(
        self,
        task: Any,
        sentence_avg: bool,
        label_smoothing: float,
        ignore_prefix_size: int = 0,
        report_accuracy: bool = False,
        no_diagnostics: bool = False,
    ) -> None:
        super().__init__(task)
        self.sentence_avg = sentence_avg
        self.eps = label_smoothing
        self.ignore_prefix_size = ignore_prefix_size
        self.report_accuracy = report_accuracy
        self.with_diagnostics = not no_diagnostics

    def forward(
        self, model: Any, sample: dict[str, Any], reduce: bool = True
    ) -> tuple[Tensor, int, dict[str, Any]]:
        """
        Args:
            model: an encoder-decoder or language model of this package
            sample: fairseq's batch
            reduce: return the summed loss; otherwise one loss a target position, (B * T, 1)

        Returns:
            loss, sample size (denominator of the gradient), and what to log
        """
        diagnosing = self.with_diagnostics and not model.training
        gamma = float(getattr(model, "aux_weight", 0.0))
        joint = reduce and gamma > 0 and _has_auxiliary(model)
        totals: Totals = {}
        with self._diagnosing(model, sample, totals) if diagnosing else nullcontext():
            features, extra = model(**sample["net_input"], features_only=True, with_auxiliary=joint)
        target = model.get_targets(sample, [features])
        sentences, tokens = sample["target"].size(0), sample["ntokens"]
        size = sentences if self.sentence_avg else tokens
        log: dict[str, Any] = {"ntokens": tokens, "nsentences": sentences, "sample_size": size}
        main = self.decoder_loss(model, features, target, reduce)
        loss = main.loss
        if joint:
            loss = loss + gamma * self._auxiliary_loss(model, extra, target, log)
            log["main_loss"] = main.loss.data
        if self._counts_correct(model):
            real = target[:, self.ignore_prefix_size :].ne(self.padding_idx)
            log["n_correct"], log["total"] = main.correct, real.sum()
        log.update(loss=loss.data, nll_loss=main.nll)
        for parts, (total, count) in totals.items():
            name = "_".join(map(str, parts))
            log[f"_{name}_sum"], log[f"_{name}_count"] = total, count
        return loss, size, log

    def _auxiliary_loss(
        self, model: Any, extra: dict[str, Any], target: Tensor, log: dict[str, Any]
    ) -> Tensor:
        """Returns the sum of the auxiliary losses; writes each loss into `log`."""
        total = torch.zeros((), device=target.device)
        for layer, features in extra["auxiliary_features"].items():
            part = self.decoder_loss(model, features, target)
            total = total + part.loss
            log[f"aux{layer}_loss"] = part.loss.data
            log[f"aux{layer}_nll_loss"] = part.nll
            if self._counts_correct(model):
                log[f"aux{layer}_n_correct"] = part.correct
        return total

    def decoder_loss(
        self, model: Any, features: Tensor, target: Tensor, reduce: bool = True
    ) -> DecoderLoss:
        """Returns the loss of one decoder's states (B, T, C) against target (B, T).

        (1 - ε - ε_i) nll + ε_i Σ_v -log p_v with ε_i = ε / (V - 1); softmax in float32.
        """
        features = features[:, self.ignore_prefix_size :].flatten(0, 1)
        words = target[:, self.ignore_prefix_size :].flatten()
        ignored = None
        if shapes_are_fixed():
            target, ignored = words, self.padding_idx
        else:
            real = words.ne(self.padding_idx).nonzero().squeeze(1)  # (N)
            target, features = words.index_select(0, real), features.index_select(0, real)
        logits = model.decoder.output_layer(features)  # (N, V)
        exact = torch.promote_types(logits.dtype, torch.float32)
        lprobs = torch.log_softmax(logits, dim=-1, dtype=exact)
        loss, nll = label_smoothed_nll_loss(lprobs, target, self.eps, ignored, reduce)
        if not reduce:  # back to all positions, with 0 at padding
            zeros = loss.new_zeros(len(words))
            loss, nll = (zeros.index_copy(0, real, part)[:, None] for part in (loss, nll))
        correct = target.new_zeros(())
        if self._counts_correct(model):
            correct = (logits.argmax(dim=1).eq(target) & target.ne(self.padding_idx)).sum()
        return DecoderLoss(loss, nll.detach(), correct)

    def _counts_correct(self, model: Any) -> bool:
        return self.report_accuracy or (_has_auxiliary(model) and not model.training)

    def _diagnosing(self, model: Any, sample: dict[str, Any], totals: Totals) -> Any:
        """Adds every diagnostic of a validation batch to `totals`, as the modules run."""
        batch = Batch(
            source=sample["net_input"]["src_tokens"],
            prefix=sample["net_input"].get("prev_output_tokens"),
            target=sample["target"],
            padding_idx=self.padding_idx,
        )
        return recording(model, NEEDED, lambda recorded: diagnose(recorded, batch, totals))

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict[str, Any]]) -> None:
        """Aggregates the outputs of `forward` over batches and workers."""

        def total(key: str) -> Any:
            return sum(log.get(key, 0) for log in logging_outputs)

        def log_bits(key: str, count: Any) -> None:
            metrics.log_scalar(key, total(key) / count / math.log(2), count, round=3)

        def log_decoder(prefix: str) -> None:
            """Logs loss, nll, perplexity and accuracy of the main ("") or an auxiliary decoder."""
            log_bits(f"{prefix}loss", sample_size)
            log_bits(f"{prefix}nll_loss", ntokens)
            metrics.log_derived(
                f"{prefix}ppl", lambda meters: utils.get_perplexity(meters[f"{prefix}nll_loss"].avg)
            )
            real = utils.item(total("total"))
            if real:
                accuracy = 100.0 * utils.item(total(f"{prefix}n_correct")) / real
                metrics.log_scalar(f"{prefix}accuracy", accuracy, real, round=3)

        sample_size, ntokens = total("sample_size"), total("ntokens")
        log_decoder("")
        keys = logging_outputs[0] if logging_outputs else {}
        if "main_loss" in keys:
            log_bits("main_loss", sample_size)
        for key in keys:
            if re.fullmatch(r"aux\d+_nll_loss", key):
                log_decoder(key.removesuffix("nll_loss"))
            elif key.startswith("_") and key.endswith("_sum"):
                name = key[1:-4]
                count = utils.item(total(f"_{name}_count"))
                if count:
                    mean = utils.item(total(f"_{name}_sum")) / count
                    metrics.log_scalar(name, mean, count, round=4)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True  # every logged value is a sum


def _has_auxiliary(model: Any) -> bool:
    return len(getattr(model.decoder, "auxiliary", ())) > 0


for _name, _class in PUBLISHED.items():
    register_criterion(_name, dataclass=JointLossConfig)(type(_class, (JointLossCriterion,), {}))
