"""Logits of the whole recurrent decoders are those of the paper's equations."""

import pytest
import torch
from helpers import pad, sentences, shifted
from paper_names import of_attention, of_conditional_gru, of_readout
from recurrent import MODELS, SOURCE, TARGET, build, run
from reference.recurrent_decoder import language_logits, translation_logits

from dc_nmt_plugin.models.recurrent.decoder import GRUDecoder


def weights_of(decoder):
    w = {"output": {"W": decoder.output_projection.weight, "b": decoder.output_projection.bias}}
    w["residual"] = of_attention(getattr(decoder.residual, "summary", decoder.residual))
    if decoder.readout is not None:
        w["readout"] = of_readout(decoder.readout)
    if isinstance(decoder, GRUDecoder):
        w["cell"] = of_conditional_gru(decoder.cell)
        if decoder.summary is not None:
            w["summary"] = of_attention(decoder.summary)
    else:
        lstm = decoder.lstm.lstm
        w["lstm"] = {
            "W": lstm.weight_ih_l0,
            "U": lstm.weight_hh_l0,
            "b": lstm.bias_ih_l0 + lstm.bias_hh_l0,
        }
    return w


@pytest.mark.parametrize(("kind", "readout"), MODELS)
@torch.no_grad()
def test_logits_are_the_equations(kind, readout):
    net = build(kind, readout)
    source, target = sentences(SOURCE), shifted(sentences(TARGET, seed=5))
    logits, _ = run(net, pad(source, left=True), pad(target, left=False))
    w = weights_of(net.decoder)
    for row, prefix in enumerate(target):
        words = list(net.decoder.embed_tokens(prefix))
        if kind == "gru":  # the annotations are torch's own: test_recurrent.py
            annotations = list(net.encoder(source[row][None]).features[0][0])
            expected = translation_logits(w, readout, words, annotations)
        else:
            expected = language_logits(w, readout, words)
        actual = logits[row, : len(prefix)]
        torch.testing.assert_close(actual, torch.stack(expected), atol=1e-10, rtol=0)
