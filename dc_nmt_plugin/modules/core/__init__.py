"""Parts that several mechanisms share; imports none of the mechanisms.

Tests: ``tests/unit/modules``, ``tests/model/test_ground_rules.py``.
"""
