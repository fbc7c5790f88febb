"""The papers' equations in pure torch, one file a mechanism; comments name them (``# Eq. (13)``).

A file's first lines name its paper. :mod:`.core` is what several mechanisms share (its `flow` is
what a layer gets beside its input), and :mod:`.fast` is there for speed alone.
"""
