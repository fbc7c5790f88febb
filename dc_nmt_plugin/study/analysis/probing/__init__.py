"""Probing classifiers on the sentence vectors of frozen encoders."""
