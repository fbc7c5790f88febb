"""The recurrent architectures (miculicich2018self)."""

from __future__ import annotations

from ..recurrent.config import GRU, LANGUAGE_MODEL
from .family import Family

FAMILIES = (
    Family(
        name="gru_selfattn_residual",
        about="a GRU decoder whose output layer sees all earlier words",
        cites="miculicich2018self, sections 3-5, Tables 1 and 4",
        variants={
            "": {"readout": "content"},
            "baseline": {"readout": "baseline"},
            "mean": {"readout": "mean"},
            "scope": {"readout": "content+scope"},
            "memory": {"readout": "memory-rnn"},
            "selfattn": {"readout": "self-attentive-rnn"},
        },
        # "" is the published size (e = 500, d = 1024)
        sizes={
            "": {},
            "iwslt": {"embed_dim": 256, "hidden_dim": 512},
            "tiny": {"embed_dim": 128, "hidden_dim": 256},
        },
        model=GRU,
    ),
    Family(
        name="lstm_lm_selfattn_residual",
        about="an LSTM language model whose output layer sees all earlier words",
        cites="miculicich2018self, Table 6",
        variants={
            "": {"readout": "content"},
            "mean": {"readout": "mean"},
            "scope": {"readout": "content+scope"},
            "baseline": {"readout": "baseline"},
            # Table 6's baseline: the state alone, 300 wide so that all rows have 47 M parameters
            "plain": {"readout": "plain", "embed_dim": 300, "hidden_dim": 300},
        },
        sizes={"": {}},
        model=LANGUAGE_MODEL,
        criterion="gru_selfattn_residual",
        task="language_modeling",
    ),
)
