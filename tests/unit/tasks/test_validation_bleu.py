"""``--eval-bleu`` scores as ``dc-nmt score --target-lang`` does."""

from argparse import Namespace

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.logging import metrics

from dc_nmt_plugin.laboratory.evaluation.metrics import METRICS, default_bleu
from dc_nmt_plugin.tasks.translation import JointTranslationTask, bleu_statistics, log_bleu

TEXTS = {
    "zh": ("我 的 老师 忘 了 公园 的 地图 。", "我 老师 在 公园 忘 了 地图 。"),
    "th": ("ครู ของ ฉัน ลืม แผนที่", "ครู ฉัน ลืม แผนที่ ใน"),
    "qq": ("ครู ของ ฉัน ลืม แผนที่", "ครู ฉัน ลืม แผนที่ ใน"),  # a code that no table has
    "de": ("mein Lehrer vergaß die Karten im Park .", "mein Lehrer vergaß die Karte im Park ."),
}


@pytest.mark.parametrize("language", TEXTS)
def test_the_tokeniser_is_the_languages(language):
    hypothesis, reference = TEXTS[language]
    words = Dictionary()
    rows = [words.encode_line(text) for text in (hypothesis, reference)]
    task = object.__new__(JointTranslationTask)
    settings = {"eval_bleu_remove_bpe": None, "eval_bleu_print_samples": False}
    task.cfg = Namespace(target_lang=language, eval_tokenized_bleu=False, **settings)
    task.tgt_dict, task.tokenizer = words, None
    task.inference_step = lambda *_, **__: [[{"tokens": rows[0]}]]
    bleu = task._inference_with_bleu(None, {"target": torch.stack([rows[1].long()])}, None)
    metric = METRICS[default_bleu(language, [reference])]
    expected, _ = metric.score([hypothesis], [reference], language)
    assert bleu.score == expected > 0
    statistics = bleu_statistics("bleu_aux1", bleu)
    with metrics.aggregate(new_root=True) as logged:
        log_bleu("bleu_aux1", [dict.fromkeys(statistics, 0), statistics])  # of two workers
    assert logged.get_smoothed_value("bleu_aux1") == round(expected, 2)
