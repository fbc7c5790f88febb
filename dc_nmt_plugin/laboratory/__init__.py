"""From raw text to a scored table: the commands of ``dc-nmt`` and what they need.

Tests: ``tests/unit`` has a folder of the same name for each room; ``tests/system`` runs programs.
"""
