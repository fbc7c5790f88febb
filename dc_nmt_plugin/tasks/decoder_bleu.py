"""BLEU on validation, of every decoder, summed over batches and workers as in fairseq."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import sacrebleu
from fairseq.logging import metrics
from sacrebleu.metrics import BLEU

from ..text.languages import bleu_tokenizer, known_as

ORDER = 4  # longest n-gram


@contextmanager
def bleu_of_language(code: str, words: Iterable[str]) -> Iterator[None]:
    """Lets ``sacrebleu.corpus_bleu`` take the tokeniser that suits a language.

    fairseq's ``--eval-bleu`` leaves the choice to sacreBLEU, which takes 13a. By 13a, Chinese has a
    BLEU near 0. `words` are those of the language's dictionary.
    """
    stock = sacrebleu.corpus_bleu
    tokenizer = bleu_tokenizer(known_as(code), words)
    sacrebleu.corpus_bleu = partial(stock, tokenize=tokenizer, force=True)
    try:
        yield
    finally:
        sacrebleu.corpus_bleu = stock


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
