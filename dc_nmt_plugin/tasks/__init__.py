"""Tasks: fairseq's translation with each paper's hooks, its language modelling with checks."""

from .. import prepare as prepare
from . import architectures, language_modeling, multi_level, translation

__all__ = ["architectures", "language_modeling", "multi_level", "translation"]
