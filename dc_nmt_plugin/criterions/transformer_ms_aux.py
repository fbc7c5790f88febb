"""Criterion of ``transformer_ms_aux``."""

from typing import Any

from fairseq.criterions import register_criterion
from torch import Tensor

from .joint_loss import JointLossConfig, JointLossCriterion


@register_criterion("transformer_ms_aux", dataclass=JointLossConfig)
class TransformerMultiLevelSupervisionCriterion(JointLossCriterion):
    """The joint loss of the main and the auxiliary decoders (thesis ch. 4).

    Logs loss, nll, perplexity and, on validation, accuracy of every decoder; the main decoder's
    under the plain names, the others' as ``aux1_loss`` and so on.
    """

    def forward(
        self, model: Any, sample: dict[str, Any], reduce: bool = True
    ) -> tuple[Tensor, int, dict[str, Any]]:
        asked = self.report_accuracy
        self.report_accuracy = asked or not model.training
        try:
            return super().forward(model, sample, reduce)
        finally:
            self.report_accuracy = asked
