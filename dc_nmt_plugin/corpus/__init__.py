"""The embedded parallel corpus (``dc-nmt corpus``) and the checks of parallel text."""

from .checks import check_parallel, read_lines
from .command import main
from .generate import Corpus, make_corpus, write_corpus

__all__ = [
    "Corpus",
    "check_parallel",
    "main",
    "make_corpus",
    "read_lines",
    "write_corpus",
]
