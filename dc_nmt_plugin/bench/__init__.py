"""``dc-nmt bench``: training and decoding speed against fairseq's own transformer."""

from .command import main

__all__ = ["main"]
