"""Tiny recurrent models, and calling them alike."""

from __future__ import annotations

import argparse
from typing import Any

from helpers import pad, sentences, shifted, task
from reference.parameters import randomise
from torch import Tensor

from dc_nmt_plugin.models.recurrent.config import LM_READOUTS, READOUTS
from dc_nmt_plugin.models.recurrent.model import GRUModel, LSTMLanguageModel

SOURCE, TARGET = [7, 3, 5], [4, 6, 2]
TINY = {"embed_dim": 12, "hidden_dim": 14}
MODELS = [("gru", readout) for readout in READOUTS] + [("lm", readout) for readout in LM_READOUTS]


def build(kind: str, readout: str, **settings: Any) -> Any:
    """A tiny model whose parameters are all drawn at random, in double precision."""
    model_class = GRUModel if kind == "gru" else LSTMLanguageModel
    args = argparse.Namespace(**{**TINY, "readout": readout, **settings})
    return randomise(model_class.build_model(args, task()))


def run(net: Any, source: Tensor, prefix: Tensor, **kwargs: Any) -> Any:
    """A forward pass; a language model reads the prefix alone."""
    if isinstance(net, GRUModel):
        return net(source, None, prefix, **kwargs)
    return net(prefix, src_lengths=None, **kwargs)


def prefixes(length: int = 6, rows: int = 3) -> Tensor:
    """Decoder inputs (rows, length)."""
    return pad(shifted(sentences([length] * rows, seed=5)), left=False)
