"""Translates binarised text by CTranslate2 with beam 5, batch by batch as fairseq-generate.

Its words are MODEL DATA SUBSET MAX_TOKENS; OMP_NUM_THREADS is the number of threads.
"""

from __future__ import annotations

import os
import sys

import ctranslate2
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from turns import wait_for_turn


def main(model: str, data: str, subset: str, tokens: str) -> None:
    cfg = TranslationConfig(data=data, dataset_impl=None, required_seq_len_multiple=1)
    task = TranslationTask.setup_task(cfg)
    task.load_dataset(subset)
    words, pairs = task.source_dictionary, task.dataset(subset)
    translator = ctranslate2.Translator(model, intra_threads=int(os.environ["OMP_NUM_THREADS"]))
    batches = task.get_batch_iterator(
        pairs, max_tokens=int(tokens), required_batch_size_multiple=8
    ).next_epoch_itr(shuffle=False)
    for batch in batches:
        rows = batch["id"].tolist()
        wait_for_turn(len(rows))
        sources = [words.string(pairs.src[row][:-1]).split() for row in rows]
        results = translator.translate_batch(sources, beam_size=5)
        for row, result in zip(rows, results, strict=True):
            pieces = [piece for piece in result.hypotheses[0] if piece not in ("<s>", "</s>")]
            print(f"H-{row}\t0\t{' '.join(pieces)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
