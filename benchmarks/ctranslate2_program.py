"""Translates binarised text by CTranslate2 with beam 5, and prints as fairseq-generate does.

Its words are MODEL DATA SUBSET MAX_TOKENS; OMP_NUM_THREADS is the number of threads.
"""

from __future__ import annotations

import os
import sys
import time

import ctranslate2
from fairseq.tasks.translation import TranslationConfig, TranslationTask


def main(model: str, data: str, subset: str, tokens: str) -> None:
    task = TranslationTask.setup_task(TranslationConfig(data=data, dataset_impl=None))
    task.load_dataset(subset)
    words, pairs = task.source_dictionary, task.dataset(subset)
    sources = [words.string(pairs.src[row][:-1]).split() for row in range(len(pairs))]
    translator = ctranslate2.Translator(model, intra_threads=int(os.environ["OMP_NUM_THREADS"]))
    start = time.perf_counter()
    results = translator.translate_batch(
        sources, beam_size=5, batch_type="tokens", max_batch_size=int(tokens)
    )
    seconds = time.perf_counter() - start
    for row, result in enumerate(results):
        pieces = [piece for piece in result.hypotheses[0] if piece not in ("<s>", "</s>")]
        print(f"H-{row}\t{result.scores[0] if result.scores else 0}\t{' '.join(pieces)}")
    rate = len(results) / seconds
    print(f"Translated {len(results)} sentences in {seconds:.1f} s ({rate:.2f} sentences/s)")


if __name__ == "__main__":
    main(*sys.argv[1:])
