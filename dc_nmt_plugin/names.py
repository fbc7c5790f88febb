"""Names that fairseq and Python's packages know: criterions with their tasks, distributions."""

from __future__ import annotations

from importlib import metadata

FAIRSEQS = ("ve-fairseq", "fairseq-fixed", "fairseq")  # distributions that are fairseq

# name, also of criterion and task → class of the criterion. A checkpoint holds that name, and
# fairseq resumes a run only with the same class.
PUBLISHED = {
    "transformer_dc": "TransformerDCCriterion",
    "transformer_ctxaware": "TransformerContextAwareCriterion",
    "transformer_cross_agg": "TransformerCrossAggregationCriterion",
    "transformer_mlmha": "TransformerMultiLayerCriterion",
    "transformer_ms_aux": "TransformerMultiLevelSupervisionCriterion",
    "gru_selfattn_residual": "SelfAttentiveResidualCriterion",
}
# models in fairseq's registry
TRANSFORMER, GRU, LANGUAGE_MODEL = "dc_nmt_transformer", "dc_nmt_gru", "dc_nmt_lstm_lm"
USER_DIR_VARIABLE = "DC_NMT_USER_DIR"  # folders with mechanisms of the user's own
# setting in a checkpoint: mechanism of the model from such a folder → the folder
MECHANISM_FOLDERS = "mechanism_folders"
JOINT_LOSSES = {"joint_label_smoothed_cross_entropy", *PUBLISHED}  # --criterion
STOCK_LOSSES = {"cross_entropy", "label_smoothed_cross_entropy"}  # fairseq's own


def version_of(distribution: str) -> str | None:
    """Returns the installed version; None if the distribution is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
