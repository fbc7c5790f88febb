"""Checkpoints of fairseq: read safely, saved atomically, averaged."""
