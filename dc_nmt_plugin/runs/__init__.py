"""The record of a run, ``run.json``: its schema, and how it is read, written, found, converted.

Tests: ``tests/unit/runs``, ``tests/system/test_plain_runs.py``.
"""
