"""Reproduction of the tables and figures of the papers: required runs and results."""
