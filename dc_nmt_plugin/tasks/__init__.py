"""Tasks: one translation task with every hook, and fairseq's language modelling with checks."""

from .. import prepare as prepare
from . import language_modeling, translation

__all__ = ["language_modeling", "translation"]
