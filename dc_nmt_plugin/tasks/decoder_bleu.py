"""BLEU of auxiliary decoders on validation, summed over batches and workers as in fairseq."""

from __future__ import annotations

from typing import Any

from fairseq.logging import metrics
from sacrebleu.metrics import BLEU

ORDER = 4  # longest n-gram
_STATISTICS = (
    *(f"correct_{n}" for n in range(ORDER)),
    *(f"total_{n}" for n in range(ORDER)),
    "sys_len",
    "ref_len",
)


def bleu_statistics(name: str, bleu: Any) -> dict[str, int]:
    """Returns the statistics of a batch's BLEU that are summed over batches.

    Args:
        name: of the score, such as ``bleu_aux1``
        bleu: sacreBLEU's score
    """
    values = (*bleu.counts, *bleu.totals, bleu.sys_len, bleu.ref_len)
    return {f"_{name}_{key}": value for key, value in zip(_STATISTICS, values, strict=True)}


def log_bleu(name: str, logging_outputs: list[dict[str, Any]]) -> None:
    """Logs the score `name` of all batches and workers; does nothing in training."""
    keys = [f"_{name}_{key}" for key in _STATISTICS]
    if not any(keys[0] in log for log in logging_outputs):
        return
    for key in keys:
        metrics.log_scalar(key, float(sum(log.get(key, 0) for log in logging_outputs)))

    def score(meters: Any) -> float:
        sums = [int(meters[key].sum) for key in keys]
        bleu = BLEU.compute_bleu(
            correct=sums[:ORDER],
            total=sums[ORDER : 2 * ORDER],
            sys_len=sums[-2],
            ref_len=sums[-1],
            smooth_method="exp",
        )
        return float(round(bleu.score, 2))

    metrics.log_derived(name, score)
