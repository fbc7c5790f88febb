"""Criterion of ``transformer_ctxaware``."""

from typing import Any

from fairseq.criterions import register_criterion

from ..modules.core.recording import Records
from ..modules.diagnostics.gates import GATES, token_total
from ..modules.diagnostics.records import layer_records, padding_of
from .joint_loss import Diagnostics, JointLossConfig, JointLossCriterion


@register_criterion("transformer_ctxaware", dataclass=JointLossConfig)
class TransformerContextAwareCriterion(JointLossCriterion):
    """Logs, on validation, the mean gates λ_Q and λ_K over real tokens (paper, Figs 2-4).

    ``lambda_q_encoder_l`` is layer l's, ``lambda_q_encoder`` the mean over the side's layers.
    """

    def diagnostics(self, model: Any, sample: dict[str, Any], records: Records) -> Diagnostics:
        result: dict[str, tuple[float, int]] = {}
        for side, layer, tensors in layer_records(records, "self_attn"):
            padding = padding_of(sample, side, self.padding_idx)
            for gate in GATES:
                if gate not in tensors:
                    continue
                total, count = token_total(tensors[gate], padding)
                result[f"{gate}_{side}_{layer}"] = (total, count)
                pooled = result.get(f"{gate}_{side}", (0.0, 0))
                result[f"{gate}_{side}"] = (pooled[0] + total, pooled[1] + count)
        return result
