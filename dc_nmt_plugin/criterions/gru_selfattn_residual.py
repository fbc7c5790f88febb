"""Criterion of ``gru_selfattn_residual`` and of its language model."""

from typing import Any

from fairseq.criterions import register_criterion

from ..modules.core.recording import Records
from ..modules.diagnostics.previous_words import previous_word_totals, previous_word_weights
from .joint_loss import Diagnostics, JointLossConfig, JointLossCriterion


@register_criterion("gru_selfattn_residual", dataclass=JointLossConfig)
class SelfAttentiveResidualCriterion(JointLossCriterion):
    """Logs, on validation, how the attention to earlier words spreads.

    ``previous_entropy`` is its mean entropy in nats, ``previous_last`` the mean share that falls
    on the last word; nothing where the readout has no such attention.
    """

    def diagnostics(self, model: Any, sample: dict[str, Any], records: Records) -> Diagnostics:
        weights = previous_word_weights(records)
        if weights is None:
            return {}
        lengths = sample["target"].ne(self.padding_idx).sum(dim=1)
        return previous_word_totals(weights, lengths)
