"""The recurrent family: a GRU encoder-decoder and an LSTM language model with their readouts.

Tests: ``tests/model/test_recurrent*.py``.
"""
