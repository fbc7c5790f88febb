"""Training and decoding speed against fairseq's own transformer."""

STOCK = "stock"  # the baseline: fairseq's transformer of the same size
MODES = ("train", "decode")
