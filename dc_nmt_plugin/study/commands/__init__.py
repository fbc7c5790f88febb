"""The commands of ``dc-nmt`` for papers and analyses, one file each.

Tests: ``tests/unit/papers``, ``tests/system/test_analyze.py``.
"""
