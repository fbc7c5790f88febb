"""Pieces joined to words, and the parts of speech of words."""

import pytest
from fairseq.data import Dictionary

from dc_nmt_plugin.study.analysis.tagging import tagger
from dc_nmt_plugin.text.segmentation import piece_kind, word_spans, words_of


@pytest.mark.parametrize(
    ("pieces", "kind", "spans", "words"),
    [
        ("a@@ b c d@@ e@@ f", "subword_nmt", [(0, 2), (2, 3), (3, 6)], ["ab", "c", "def"]),
        ("▁a b ▁c", "sentencepiece", [(0, 2), (2, 3)], ["ab", "c"]),
        ("a b@@ c", "none", [(0, 1), (1, 2), (2, 3)], ["a", "b@@", "c"]),
        ("&apos;@@ s", "subword_nmt", [(0, 2)], ["'s"]),
        ("", "none", [], []),
    ],
)
def test_words(pieces, kind, spans, words):
    assert word_spans(pieces.split(), kind) == spans
    assert words_of(pieces.split(), kind) == words


def test_the_kind_of_pieces_is_seen_in_the_dictionary():
    for kind, symbols in {
        "subword_nmt": ["▁a", "b@@"],  # the embedded corpus has both: BPE is what joins
        "sentencepiece": ["▁a", "b"],
        "none": ["a", "b"],
    }.items():
        dictionary = Dictionary()
        for symbol in symbols:
            dictionary.add_symbol(symbol)
        assert piece_kind(dictionary) == kind


def test_english_and_german():
    for lang, sentence, tags in (
        ("en", "two young , white males are outside near many bushes .",
         "NUM ADJ SYM ADJ NOUN VERB ADJ ADP DET NOUN SYM"),
        ("de", "zwei junge weiße Männer sind im Freien .", "NUM ADJ ADJ NOUN VERB ADP NOUN SYM"),
    ):  # fmt: skip
        words = sentence.split()
        assert tagger(lang)(words) == tags.split(), lang
        assert tagger(lang)([]) == []
