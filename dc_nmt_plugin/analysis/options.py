"""The options of each analysis; ``dc-nmt analyze NAME --help`` adds them without torch."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..flags import listed

# values of --of, for attention
ATTENTION_KINDS = {
    "encoder": "self-attention of the encoder",
    "decoder": "self-attention of the decoder",
    "source": "attention of the decoder to the source",
}
# values of --text: the decoder is forced to the text's target side, or to its own translation
TEXTS = ("reference", "beam", "greedy")
CURVES = ("train:loss", "valid:loss", "valid:bleu")  # default of --numbers


def add_options(parser: argparse.ArgumentParser, analysis: str) -> None:
    """Adds the options of an analysis to those of ``dc-nmt analyze``."""
    # fmt: off
    add = parser.add_argument
    if analysis == "attention":
        add("--of", choices=ATTENTION_KINDS,
            help="which attention (default: encoder; for recurrent models: source)")
    elif analysis == "parts-of-speech":
        add("--side", choices=("encoder", "decoder"),
            help="side of the model (default: the encoder, if it has gates)")
        add("--tags", type=Path, metavar="FILE",
            help="file with the tags of a sentence per line, one tag per word (default: those of "
            "HanTa, for English and German)")
    elif analysis == "routing":
        add("--zero", type=float, default=5e-4, metavar="W",
            help="weights below this value count as zero (default: 0.0005, zero in three decimals)")
    elif analysis == "dependency":
        add("--index", type=int, default=1, metavar="N",
            help="number of the sentence to show word by word, from 1 (default: 1, or the first of "
            "--sentences)")
    elif analysis in ("previous-words", "trees"):
        add("--text", choices=TEXTS, default="reference",
            help="text to force: the reference, or the model's own translation by beam or greedy "
            "search")
        if analysis == "previous-words":
            add("--longest", type=int, default=50, metavar="K", help="number of positions to show")
        else:
            add("--trees", type=Path, metavar="FILE",
                help="file with one bracketed tree per line for each sentence of the text, with "
                "the words of the target side")
            add("--index", type=int, metavar="N",
                help="number of the sentence to draw, from 1 (default: the first)")
    elif analysis == "lengths":
        add("--unit", choices=("words", "pieces"), default="words")
        add("--edges", metavar="N,N,…", default="10,20,30,40,50",
            help="first lengths of the groups; default: 10,20,30,40,50, as in the thesis")
    elif analysis == "matrix":
        add("--sentence", metavar="TEXT",
            help="source sentence, tokenised like the data; BPE is applied if the codes are beside "
            "the data")
        add("--index", type=int, metavar="N",
            help="number of the sentence in the text, from 1 (default: 1)")
        add("--of", type=listed, metavar="NAME,…",
            help="attentions, such as encoder.3.self or 'decoder.*.source' (default: the last "
            "layer of every kind; the table lists all names)")
        add("--heads", default="mean", metavar="HEADS",
            help="mean, all, or the number of a head from 1")
    elif analysis == "curves":
        add("--numbers", type=listed, metavar="NAME,…",
            help="numbers to draw, such as valid:bleu or valid:dv_encoder; all: everything "
            f"(default: those of {','.join(CURVES)} that were logged, and means of diagnostics)")
    # fmt: on
