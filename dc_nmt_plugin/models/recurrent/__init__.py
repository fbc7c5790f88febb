"""The recurrent family: a GRU encoder-decoder and an LSTM language model with their readouts."""

from . import language_model, model

__all__ = ["language_model", "model"]
