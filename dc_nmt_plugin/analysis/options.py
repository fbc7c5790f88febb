"""Values of the options of analyses, without torch: defaults and choices."""

from __future__ import annotations

# values of --of, for attention
ATTENTION_KINDS = {
    "encoder": "self-attention of the encoder",
    "decoder": "self-attention of the decoder",
    "source": "attention of the decoder to the source",
}
# values of --text: the decoder is forced to the text's target side, or to its own translation
TEXTS = ("reference", "beam", "greedy")
CURVES = ("train:loss", "valid:loss", "valid:bleu")  # default of --numbers
EDGES = (10, 20, 30, 40, 50)  # first lengths of groups, as in the thesis
ZERO = 5e-4  # routing weights below it are zero in three decimals
