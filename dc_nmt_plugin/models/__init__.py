"""The architectures: flags and presets, readable without torch, and :mod:`.registry`.

Tests: ``tests/model``, ``tests/unit/models``.
"""
