"""How fairseq turns numbers into text."""

import pytest
import torch
from fairseq.data import Dictionary

from dc_nmt_plugin.tasks.translation import JointTranslationTask


@pytest.fixture
def dictionary(tmp_path):
    file = tmp_path / "dict.en.txt"
    file.write_text("a 1\nh@@ 1\nouse 1\nburns 1\n")
    return JointTranslationTask.load_dictionary(str(file))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bpe_symbol": "@@ "},
        {"escape_unk": True},
        {"unk_string": "?"},
        {"include_eos": True, "separator": "_"},
        {"extra_symbols_to_ignore": [4]},
    ],
)
def test_text_is_that_of_fairseq(dictionary, options):
    stock = Dictionary.string
    sentence = torch.tensor([4, 5, 6, 3, 7, 2, 1])
    for numbers in (sentence, sentence.int(), sentence.tolist(), sentence[:0]):
        assert dictionary.string(numbers, **options) == stock(dictionary, numbers, **options)
    both = torch.stack([sentence, sentence.flip(0)])
    assert dictionary.string(both, "@@ ") == stock(dictionary, both, "@@ ")


def test_sentencepieces_are_joined_as_by_fairseq_and_bytes_are_characters(tmp_path):
    file = tmp_path / "dict.ja.txt"
    file.write_text("▁a 1\nb 1\n▁ 1\n<0xC3> 1\n<0xA9> 1\n", "utf-8")
    pieces = JointTranslationTask.load_dictionary(str(file))
    plain = torch.tensor([4, 5, 6, 3, 5, 4, 2])
    for options in ({}, {"escape_unk": True}, {"unk_string": "?"}):
        expected = Dictionary.string(pieces, plain, "sentencepiece", **options)
        assert pieces.string(plain, "sentencepiece", **options) == expected
    assert pieces.string(plain, None) == Dictionary.string(pieces, plain)
    assert pieces.string(torch.tensor([4, 7, 8, 6, 5, 2]), "sentencepiece") == "aé b"
    both = torch.stack([plain, plain.flip(0)])
    assert pieces.string(both, "sentencepiece").count("\n") == 1


def test_a_sentence_is_read_at_once(dictionary, monkeypatch):
    """A GPU would be waited for at each of its numbers."""
    monkeypatch.setattr(torch.Tensor, "__iter__", lambda tensor: pytest.fail("one by one"))
    assert dictionary.string(torch.tensor([5, 6, 7, 2]), "@@ ") == "house burns"
