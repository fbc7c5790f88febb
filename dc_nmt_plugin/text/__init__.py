"""Lines of text, their languages and segmentation.

Tests: ``tests/unit/text``.
"""
