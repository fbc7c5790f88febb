"""Translates a file with CTranslate2 and prints as ``fairseq-generate`` does.

A program of its own, which imports nothing else, as a user of CTranslate2 would write it:
``python ctranslate2_program.py MODEL TEXT BEAM TOKENS LONGEST SHORTEST THREADS``.
"""

import sys
import time

import ctranslate2


def main(model: str, text: str, *numbers: str) -> None:
    """Prints a line ``H-NUMBER SCORE TEXT`` for each sentence, and the rate."""
    beam, tokens, longest, shortest, threads = map(int, numbers)
    translator = ctranslate2.Translator(
        model, device="cpu", inter_threads=1, intra_threads=threads, compute_type="default"
    )
    with open(text, encoding="utf-8") as lines:
        sources = [line.split() for line in lines]
    start = time.perf_counter()
    results = translator.translate_batch(
        sources,
        beam_size=beam,
        max_batch_size=tokens,
        batch_type="tokens",
        max_decoding_length=longest,
        min_decoding_length=shortest,
        return_scores=True,
    )
    seconds = time.perf_counter() - start
    for number, result in enumerate(results):
        pieces = " ".join(piece for piece in result.hypotheses[0] if piece != "<s>")
        print(f"H-{number}\t{result.scores[0]}\t{pieces}")
    print(f"Translated {len(results)} sentences in {seconds:.1f}s "
          f"({len(results) / seconds:.2f} sentences/s)")  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
