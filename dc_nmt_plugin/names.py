"""Names of the published architectures; their criterions and tasks have the same names."""

from __future__ import annotations

# name → class of its criterion. A checkpoint holds the class's name, and fairseq resumes a run only
# with the same class.
PUBLISHED = {
    "transformer_dc": "TransformerDCCriterion",
    "transformer_ctxaware": "TransformerContextAwareCriterion",
    "transformer_cross_agg": "TransformerCrossAggregationCriterion",
    "transformer_mlmha": "TransformerMultiLayerCriterion",
    "transformer_ms_aux": "TransformerMultiLevelSupervisionCriterion",
    "gru_selfattn_residual": "SelfAttentiveResidualCriterion",
}
