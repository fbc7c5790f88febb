"""Checkpoints of fairseq: read safely, with their names, settings and dictionaries."""
