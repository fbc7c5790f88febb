"""Criterion of ``transformer_cross_agg``."""

from typing import Any

from fairseq.criterions import register_criterion

from ..modules.core.recording import Records
from ..modules.diagnostics.head_weights import added_norm_total, entropy_total, head_weight_totals
from ..modules.diagnostics.records import layer_records, padding_of
from .joint_loss import Diagnostics, JointLossConfig, JointLossCriterion


@register_criterion("transformer_cross_agg", dataclass=JointLossConfig)
class TransformerCrossAggregationCriterion(JointLossCriterion):
    """Logs, on validation, the head weights Λ (eq. 13) and the mean norm of the added logits.

    ``head_weight_l_h`` is layer l's mean weight of head h, ``head_entropy_l`` the mean entropy of
    Λ in nats, ``added_norm_l`` the mean norm of Ω over heads and real positions.
    """

    def diagnostics(self, model: Any, sample: dict[str, Any], records: Records) -> Diagnostics:
        result: dict[str, tuple[float, int]] = {}
        for side, layer, tensors in layer_records(records, "self_attn"):
            if "added_norm" in tensors:
                padding = padding_of(sample, side, self.padding_idx)
                result[f"added_norm_{layer}"] = added_norm_total(tensors["added_norm"], padding)
            if "head_weights" in tensors:
                sums, count = head_weight_totals(tensors["head_weights"])
                for head, total in enumerate(sums, start=1):
                    result[f"head_weight_{layer}_{head}"] = (total, count)
                result[f"head_entropy_{layer}"] = entropy_total(tensors["head_weights"])
        return result
