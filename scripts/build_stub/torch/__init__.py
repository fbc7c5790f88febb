"""Stands in for torch while pip compiles fairseq (see utils/cpp_extension.py); never installed."""
