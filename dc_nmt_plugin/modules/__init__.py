"""The papers' equations in pure torch, one file a mechanism; comments name them (``# Eq. (13)``).

Tests: ``tests/unit/modules`` compares with loops in ``tests/reference``. A file's first lines name
its paper.
"""
