"""Checks of flags and data before fairseq starts, and explanations of its exceptions."""
