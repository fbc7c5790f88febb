"""Pieces of raw text by sentencepiece: learnt, applied and undone."""

import pytest

from dc_nmt_plugin import cli
from dc_nmt_plugin.text.lines import read_lines
from dc_nmt_plugin.text.segmentation import SENTENCEPIECE, load_codes, segmenter_of_codes

pytest.importorskip("sentencepiece")
CHARACTERS = [chr(0x4E00 + n) for n in range(1200)]
LINES = ["".join(CHARACTERS[n : n + 4] * 4) for n in range(0, 1200, 4)] * 8
RARE = ["龘 on ２ <s>x @@ <0xE9>", "<pad>😀▁-_"]  # is each itself after all


@pytest.fixture
def text(cwd):
    (cwd / "text").write_text("\n".join(LINES + RARE) + "\n", "utf-8")
    return cwd / "text"


def call(*words):
    return cli.main(["recipe", *map(str, words)])


def test_joined_pieces_are_the_text(text, capsys):
    assert call("learn-pieces", 9999, "codes.model", "pieces.txt", text) == 0
    printed = capsys.readouterr().out
    pieces = [line.rpartition(" ") for line in read_lines("pieces.txt")]
    assert (
        printed == f"codes.model: {len(pieces) + 4:,} pieces, all that the text has of the 9,999\n"
    )
    assert call("apply-pieces", "codes.model", text, "pieces") == 0
    rows = read_lines("pieces")
    assert list(map(SENTENCEPIECE.join, rows)) == LINES + [line.replace("▁", " ") for line in RARE]
    # a character that no text had is bytes, which the dictionary has
    apply = load_codes(text.with_name("codes.model"))
    assert segmenter_of_codes(text.with_name("codes.model")) is SENTENCEPIECE
    assert SENTENCEPIECE.join(apply("é龍é")) == "é龍é"
    known = {piece: int(count) for piece, _, count in pieces}
    assert known.keys() >= {*apply("é龍é").split(), "<0x00>"} and "<unk>" not in known
    assert known["<0xE9>"] == " ".join(rows).split().count("<0xE9>") > 0
    assert list(known.values()) == sorted(known.values(), reverse=True)


def test_bytes_that_are_no_character_are_left_out():
    assert SENTENCEPIECE.join("▁a <0xC3> b <0xE9> <0xBE>") == "ab"


def test_fewer_pieces_than_characters(text, capsys):
    assert call("learn-pieces", 300, "codes.model", "pieces.txt", text) == 1
    message = capsys.readouterr().err
    assert "300 pieces (operations in the recipe, --bpe of dc-nmt new): too few" in message
    assert message.count("\n") == 1 and not text.with_name("codes.model").exists()
    assert call("apply-pieces", text, text, "to") == 1
    assert "text: is no model of sentencepiece" in capsys.readouterr().err
