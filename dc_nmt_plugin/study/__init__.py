"""What the papers need: their tables and figures, and analyses of trained models.

Tests: ``tests/unit/analysis``, ``tests/unit/papers``.
"""
