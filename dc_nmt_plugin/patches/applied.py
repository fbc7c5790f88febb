"""Applies the patches on import; every package that registers something imports it first."""

from . import apply

apply()
