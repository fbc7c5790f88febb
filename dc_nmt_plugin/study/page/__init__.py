"""The page of ``--page``: a table of runs, its figures and its sentences, for a browser.

Tests: ``tests/unit/page``, ``tests/system/test_recipe_run.py``.
"""
