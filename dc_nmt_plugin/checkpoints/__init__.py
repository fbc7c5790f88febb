"""Checkpoints of fairseq: names, dictionaries, and reading them without running their code.

Tests: ``tests/unit/checkpoints``, ``tests/system/test_loading.py``.
"""
