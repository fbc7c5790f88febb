"""Settings in a checkpoint."""

from __future__ import annotations

from argparse import Namespace

from dc_nmt_plugin.checkpoints.loading import saved_settings


def test_settings_of_fairseq_before_0_10():
    state = {"args": Namespace(arch="transformer_iwslt_de_en", task="translation", dropout=0.3)}
    model, task = (saved_settings(state, part) for part in ("model", "task"))
    assert (model["_name"], task["_name"]) == ("transformer_iwslt_de_en", "translation")
    assert model["dropout"] == 0.3
