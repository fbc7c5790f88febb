"""Pieces of words and of raw text: learnt, applied and undone."""

import random
import subprocess

import pytest
from subword_nmt.apply_bpe import BPE

from dc_nmt_plugin import cli
from dc_nmt_plugin.text.lines import read_lines
from dc_nmt_plugin.text.segmentation import SENTENCEPIECE, load_codes, segmenter_of_codes

CHARACTERS = [chr(0x4E00 + n) for n in range(1200)]
LINES = ["".join(CHARACTERS[n : n + 4] * 4) for n in range(0, 1200, 4)] * 8
RARE = ["龘 on ２ <s>x @@ <0xE9>", "<pad>😀▁-_"]  # is each itself after all


@pytest.fixture
def text(cwd):
    pytest.importorskip("sentencepiece")
    (cwd / "text").write_text("\n".join(LINES + RARE) + "\n", "utf-8")
    return cwd / "text"


def call(*words):
    return cli.main(["recipe", *map(str, words)])


def test_joined_pieces_are_the_text(text, capsys):
    assert call("learn-pieces", "sentencepiece", 9999, "codes.model", text) == 0
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
    assert call("learn-pieces", "sentencepiece", 300, "codes.model", text) == 1
    message = capsys.readouterr().err
    assert "300 pieces (operations in the recipe, --bpe of dc-nmt new): too few" in message
    assert message.count("\n") == 1 and not text.with_name("codes.model").exists()


def test_codes_and_pieces_are_those_of_subword_nmt(cwd, capsys):
    draw = random.Random(1)  # many words of few letters: pruned pairs come back
    words = ["".join(draw.choices("aabcd\\é日", k=draw.randint(1, 9))) for _ in range(900)]
    lines = [" ".join(draw.choices(words, range(900, 0, -1), k=9)) for _ in range(2500)]
    (cwd / "text").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    for size in (3, 900):
        assert call("learn-pieces", "subword-nmt", size, "codes", "text") == 0
        learn = ["subword-nmt", "learn-bpe", "-s", size, "-i", "text", "-o", "stock"]
        subprocess.run(list(map(str, learn)), check=True, capture_output=True)
        assert read_lines("codes") == read_lines("stock")
    assert capsys.readouterr().out == "codes: 3 operations\ncodes: 900 operations\n"

    (cwd / "odd").write_text(" a  bé \n\n  \nb\u2003c\td日z@@\r\n" + (cwd / "text").read_text())
    assert call("apply-pieces", "codes", "odd", "pieces") == 0
    with open("codes", encoding="utf-8") as codes, open("odd", encoding="utf-8") as text:
        bpe = BPE(codes)
        assert (cwd / "pieces").read_text("utf-8") == "".join(map(bpe.process_line, text))
    (cwd / "text").write_text("a b a\n")  # no pair
    assert call("learn-pieces", "subword-nmt", 5, "codes", "text") == 0
    assert "0 operations, all that the text has of the 5" in capsys.readouterr().out
