"""Published tables, figures and numbers, and the commands that make them again.

Tests: ``tests/unit/papers``.
"""
