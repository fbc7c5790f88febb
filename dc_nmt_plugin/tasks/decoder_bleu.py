"""BLEU on validation, of every decoder, summed over batches and workers as in fairseq."""

from __future__ import annotations

import logging
from typing import Any

from fairseq import utils
from fairseq.logging import metrics
from sacrebleu.metrics import BLEU

from ..text.languages import bleu_tokenizer, known_as

logger = logging.getLogger(__name__)

ORDER = 4  # longest n-gram


def validation_bleu(task: Any, hypotheses: list[Any], targets: Any) -> Any:
    """Returns sacreBLEU's score of a batch, by the tokeniser that suits the target language.

    fairseq takes the tokeniser 13a for every language: Chinese then has a BLEU near 0.

    Args:
        task: fairseq's translation task, with a detokeniser and the flags of ``--eval-bleu``
        hypotheses: of each sentence, the best first
        targets: (sentences, T) token numbers of the references
    """

    def text(tokens: Any, unknown: str) -> str:
        # as fairseq: an unknown word is one word, and matches none of the other side
        line: str = task.tgt_dict.string(
            tokens.int().cpu(), task.cfg.eval_bleu_remove_bpe, unk_string=unknown
        )
        return task.tokenizer.decode(line) if task.tokenizer else line

    lines = [text(rows[0]["tokens"], "UNKNOWNTOKENINHYP") for rows in hypotheses]
    targets = [utils.strip_pad(row, task.tgt_dict.pad()) for row in targets]
    references = [text(row, "UNKNOWNTOKENINREF") for row in targets]
    if task.cfg.eval_bleu_print_samples:
        logger.info("example hypothesis: " + lines[0])
        logger.info("example reference: " + references[0])
    tokenizer = "none"
    if not task.cfg.eval_tokenized_bleu:
        tokenizer = bleu_tokenizer(known_as(task.cfg.target_lang), task.tgt_dict.symbols)
    return BLEU(tokenize=tokenizer, force=True).corpus_score(lines, [references])


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
