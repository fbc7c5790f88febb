"""Holds one file for each command of ``dc-nmt``: its arguments and its output."""
