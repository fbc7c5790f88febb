"""Tasks: fairseq's translation with each paper's hooks."""

from . import architectures, translation

__all__ = ["architectures", "translation"]
