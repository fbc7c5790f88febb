"""A trained model: find it, load it with the processing of its text, translate, pack.

Tests: ``tests/system/test_inference.py``, ``tests/system/test_from_python.py``. Read
:mod:`.loaded_run` first; ``dc_nmt_plugin.load`` and ``dc-nmt translate`` are made of it.
"""
