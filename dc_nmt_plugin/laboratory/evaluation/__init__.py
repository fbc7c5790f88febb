"""Evaluation of trained models: scores, significance, speeds, tables of runs.

Tests: ``tests/unit/evaluation``, ``tests/reference/multi_bleu.py``.
"""
