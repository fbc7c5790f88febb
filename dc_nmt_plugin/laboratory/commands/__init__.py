"""The commands of ``dc-nmt`` that work with text and runs, one file each: arguments and output.

Tests: ``tests/unit/commands``, ``tests/unit/test_cli.py``.
"""
