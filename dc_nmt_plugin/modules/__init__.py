"""The papers' equations in pure torch, one file a mechanism; comments name them (``# Eq. (13)``).

A file's first lines name its paper. `core` is what mechanisms share, `fast` is for speed alone.
"""
