"""Checks flags and data before fairseq starts, and explains fairseq's exceptions."""
