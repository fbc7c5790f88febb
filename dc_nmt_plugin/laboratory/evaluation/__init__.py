"""Evaluation of trained models: scores, significance, speeds, tables of runs."""
