"""Criterion of ``transformer_mlmha``."""

from typing import Any

from fairseq.criterions import register_criterion

from ..modules.core.recording import Records
from ..modules.diagnostics.records import padding_of
from ..modules.diagnostics.source_shares import pool_modules, source_layer_totals
from .joint_loss import Diagnostics, JointLossConfig, JointLossCriterion


@register_criterion("transformer_mlmha", dataclass=JointLossConfig)
class TransformerMultiLayerCriterion(JointLossCriterion):
    """Logs, on validation, how what the decoder reads divides over the source layers.

    ``source_layer_l`` is the share of encoder layer l in the context norms (MLMHA), or in the
    norms of what the layers add to their aggregate; shares sum to one.
    """

    def diagnostics(self, model: Any, sample: dict[str, Any], records: Records) -> Diagnostics:
        return pool_modules(
            source_layer_totals(
                records,
                model.encoder.source_layers,
                source_padding=padding_of(sample, "encoder", self.padding_idx),
                target_padding=padding_of(sample, "decoder", self.padding_idx),
            )
        )
