"""Tasks: fairseq's translation with each paper's hooks."""

from .. import prepare as prepare
from . import architectures, translation

__all__ = ["architectures", "translation"]
