"""The options of each analysis of ``dc-nmt analyze``, named like its keyword arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...flags import listed
from ...laboratory.commands.parser import number
from ..analysis import ATTENTION_KINDS, CURVES, EDGES, KEYS, TEXTS, ZERO


def rising_lengths(text: str) -> list[int]:
    """Parses whole numbers separated by commas."""
    return sorted({int(part) for part in text.split(",")})


# fmt: off
_TEXT = {
    "choices": TEXTS, "default": "reference",
    "help": "text to force: the reference, or the model's own translation by beam or greedy search",
}
# analysis → option → arguments for argparse
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "attention": {
        "--of": {
            "choices": ATTENTION_KINDS,
            "help": "which attention (default: encoder; for recurrent models: source)"},
        "--keys": {
            "choices": KEYS, "default": "all",
            "help": "keys that count: all, or lower: those up to the query, as in the thesis"},
    },
    "parts-of-speech": {
        "--side": {
            "choices": ("encoder", "decoder"),
            "help": "side of the model (default: the encoder, if it has gates)"},
        "--tags": {
            "type": Path, "metavar": "FILE",
            "help": "file with the tags of a sentence per line, one tag per word (default: those "
                    "of HanTa, for English and German)"},
    },
    "routing": {
        "--zero": {
            "type": float, "default": ZERO, "metavar": "W",
            "help": "weights below this value count as zero (default: 0.0005, zero in three "
                    "decimals)"},
    },
    "dependency": {
        "--index": {
            "type": int, "metavar": "N",
            "help": "number of the sentence to show word by word, from 1 (default: the first)"},
    },
    "previous-words": {
        "--text": _TEXT,
        "--longest": {
            "type": number(1), "default": 50, "metavar": "K",
            "help": "number of positions to show"},
    },
    "trees": {
        "--text": _TEXT,
        "--trees": {
            "type": Path, "metavar": "FILE",
            "help": "file with one bracketed tree per line for each sentence of the text, with the "
                    "words of the target side"},
        "--index": {
            "type": int, "metavar": "N",
            "help": "number of the sentence to draw, from 1 (default: the first)"},
    },
    "lengths": {
        "--unit": {"choices": ("words", "pieces"), "default": "words"},
        "--edges": {
            "type": rising_lengths, "default": EDGES, "metavar": "N,N,…",
            "help": "first lengths of the groups; default: 10,20,30,40,50, as in the thesis"},
    },
    "matrix": {
        "--sentence": {
            "metavar": "TEXT",
            "help": "source sentence, tokenised like the data; BPE is applied if the codes are "
                    "beside the data"},
        "--index": {
            "type": int, "metavar": "N",
            "help": "number of the sentence in the text, from 1 (default: 1)"},
        "--of": {
            "type": listed, "metavar": "NAME,…",
            "help": "attentions, such as encoder.3.self or 'decoder.*.source' (default: the last "
                    "layer of every kind; the table lists all names)"},
        "--heads": {
            "default": "mean", "metavar": "HEADS",
            "help": "mean, all, or the number of a head from 1"},
    },
    "curves": {
        "--numbers": {
            "type": listed, "metavar": "NAME,…",
            "help": "numbers to draw, such as valid:bleu or valid:dv_encoder; all: everything "
                    f"(default: those of {','.join(CURVES)} that were logged, and means of "
                    "diagnostics)"},
    },
}
# fmt: on
