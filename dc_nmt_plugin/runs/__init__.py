"""The record of a run, ``run.json``: its schema, and how it is read, written, found, converted."""
