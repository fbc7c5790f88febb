"""How fairseq turns numbers into text."""

import pytest
import torch
from fairseq.data import Dictionary


@pytest.fixture
def dictionary():
    made = Dictionary()
    for word in ("a", "h@@", "ouse", "burns"):
        made.add_symbol(word)
    return made


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
    stock = Dictionary.string.__wrapped__
    sentence = torch.tensor([4, 5, 6, 3, 7, 2, 1])
    for numbers in (sentence, sentence.int(), sentence.tolist(), sentence[:0]):
        assert dictionary.string(numbers, **options) == stock(dictionary, numbers, **options)
    both = torch.stack([sentence, sentence.flip(0)])
    assert dictionary.string(both, "@@ ") == stock(dictionary, both, "@@ ")
