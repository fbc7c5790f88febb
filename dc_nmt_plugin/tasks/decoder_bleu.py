"""BLEU on validation, of every decoder, summed over batches and workers as in fairseq."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sacrebleu
from fairseq.logging import metrics
from sacrebleu.metrics import BLEU

ORDER = 4  # longest n-gram


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str], tokenizer: str) -> Any:
    """Returns sacreBLEU's BLEU of a batch, by a tokeniser of sacreBLEU such as ``13a``."""
    return sacrebleu.corpus_bleu(hypotheses, [references], tokenize=tokenizer, force=True)


def bleu_statistics(name: str, bleu: Any) -> dict[str, int]:
    """Returns what is summed over batches for the score `name`, such as ``bleu_aux1``."""
    values = (*bleu.counts, *bleu.totals, bleu.sys_len, bleu.ref_len)
    return {f"_{name}_{number}": value for number, value in enumerate(values)}


def log_bleu(name: str, logging_outputs: list[dict[str, Any]]) -> None:
    """Logs the score `name` of all batches and workers; does nothing in training."""
    keys = [f"_{name}_{number}" for number in range(2 * ORDER + 2)]
    if not any(keys[0] in log for log in logging_outputs):
        return
    for key in keys:
        metrics.log_scalar(key, float(sum(log.get(key, 0) for log in logging_outputs)))

    def score(meters: Any) -> float:
        *counts, length, reference_length = (int(meters[key].sum) for key in keys)
        bleu = BLEU.compute_bleu(
            counts[:ORDER], counts[ORDER:], length, reference_length, smooth_method="exp"
        )
        return float(round(bleu.score, 2))

    metrics.log_derived(name, score)
