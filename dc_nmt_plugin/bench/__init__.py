"""Training and decoding speed against fairseq's own transformer."""

STOCK = "stock"  # the baseline: fairseq's transformer of the same size
PYTORCH = "pytorch"  # the baseline of recurrent models: the same one out of PyTorch's GRU cells
LEAST_TYPES = 5  # of a dictionary: fairseq's four special symbols, and one to make text of
MODES = ("train", "decode")
# axes of `dc-nmt bench --scaling`; scaling.py explains each
GROWING = ("length", "layers", "source-layers", "decoders", "beam", "vocabulary")
