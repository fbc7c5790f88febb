"""BLEU and chrF against the raw reference, with signatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics import BLEU, CHRF

from ..errors import UserError


@dataclass(frozen=True)
class Scores:
    """Corpus scores between 0 and 100."""

    bleu: float
    bleu_lc: float  # lower-cased, as many Multi30k tables are
    chrf: float
    bleu_signature: str
    bleu_lc_signature: str
    chrf_signature: str


def score_text(hypotheses: Sequence[str], references: Sequence[str], target_lang: str) -> Scores:
    """Score detokenised hypotheses; ``target_lang`` chooses sacrebleu's tokeniser (zh, else 13a).

    Raises:
        UserError: not as many hypotheses as references.
    """
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} hypotheses for {len(references)} references: "
            "the scores would compare different sentences"
        )
    metrics = (
        BLEU(trg_lang=target_lang),
        BLEU(trg_lang=target_lang, lowercase=True),
        CHRF(),
    )
    found = [metric.corpus_score(hypotheses, [references]).score for metric in metrics]
    signatures = [str(metric.get_signature()) for metric in metrics]
    return Scores(*found, *signatures)
