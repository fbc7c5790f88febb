"""Analyses of trained models."""
