"""Criterion of ``transformer_dc``."""

from typing import Any

from fairseq.criterions import register_criterion

from ..modules.core.recording import Records
from ..modules.diagnostics.divergence import attention_divergence
from ..modules.diagnostics.records import layer_records, padding_of
from .joint_loss import Diagnostics, JointLossConfig, JointLossCriterion


@register_criterion("transformer_dc", dataclass=JointLossConfig)
class TransformerDCCriterion(JointLossCriterion):
    """Logs, on validation, the divergence between global and local attention.

    ``dv_encoder_l`` is eq. (11) for layer l, per query row; ``dv_encoder`` the mean over the
    side's layers, E_d of eq. (13).
    """

    def diagnostics(self, model: Any, sample: dict[str, Any], records: Records) -> Diagnostics:
        result: dict[str, tuple[Any, Any]] = {}
        for side, layer, tensors in layer_records(records, "self_attn"):
            if "local_weights" not in tensors:
                continue
            total, rows = attention_divergence(
                tensors["global_weights"],
                tensors["local_weights"],
                padding_of(sample, side, self.padding_idx),
            )
            result[f"dv_{side}_{layer}"] = (total, rows)
            # every layer has the same rows, so the pooled mean is the mean over layers, Eq. (13)
            pooled = result.get(f"dv_{side}", (0, 0))
            result[f"dv_{side}"] = (pooled[0] + total, pooled[1] + rows)
        return result
