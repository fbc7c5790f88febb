"""Importing this applies the patches; every package that registers something does it first."""

from . import apply

apply()
