"""Probing classifiers on the sentence vectors of frozen encoders.

Tests: ``tests/unit/analysis/test_probing.py``, ``tests/system/test_probe.py``.
"""
