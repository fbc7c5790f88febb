"""The recurrent models: initial weights, dropout, published parameter counts, bad settings."""

import argparse
import math

import pytest
import torch
from fairseq.data import TruncatedDictionary
from helpers import dictionary, pad, sentences, task
from recurrent import SOURCE, build, prefixes, run

from dc_nmt_plugin.errors import ConfigError
from dc_nmt_plugin.models.recurrent.model import GRUModel, LSTMLanguageModel, unigram_logits


def test_published_initial_weights():
    torch.manual_seed(1)
    args = argparse.Namespace(embed_dim=40, hidden_dim=50)
    net, model = (kind.build_model(args, task(300)) for kind in (GRUModel, LSTMLanguageModel))
    cell, lstm = net.decoder.cell, model.decoder.lstm.lstm
    recurrent = [*cell.recurrent_proj1.weight.chunk(3), *net.encoder.gru.weight_hh_l0.chunk(3)]
    recurrent += [*cell.recurrent_proj2.weight[100:].chunk(3), *lstm.weight_hh_l0.chunk(4)]
    recurrent += [cell.key_proj.weight, net.decoder.residual.word_proj.weight]
    for matrix in recurrent:
        torch.testing.assert_close(matrix @ matrix.t(), torch.eye(len(matrix)), atol=1e-5, rtol=0)
    for weight in (cell.word_proj.weight, net.decoder.output_projection.weight, lstm.weight_ih_l0):
        assert float(weight.detach().std()) == pytest.approx(0.01, rel=0.05)
    for each in (net, model):
        assert all(bool(p.eq(0).all()) for name, p in each.named_parameters() if "bias" in name)


def test_xavier_initial_weights():
    torch.manual_seed(1)
    args = argparse.Namespace(embed_dim=40, hidden_dim=50, weight_init="xavier")
    net = GRUModel.build_model(args, task(300))
    for name, parameter in net.named_parameters():
        if "embed_tokens" in name:
            assert float(parameter.detach()[2:].norm(dim=1).mean()) == pytest.approx(1, rel=0.05)
        elif parameter.dim() > 1:
            bound = math.sqrt(6 / sum(parameter.shape))
            assert float(parameter.detach().abs().max()) <= bound, name
            assert float(parameter.detach().std()) == pytest.approx(bound / math.sqrt(3), rel=0.1)
    assert bool(net.decoder.embed_tokens.weight[1].eq(0).all())


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("model_class", [GRUModel, LSTMLanguageModel])
def test_unigram_output_bias_predicts_the_words_frequencies(model_class, tied):
    words = task(20)
    words.target_dictionary.count = [1, 1, 1, 1, *range(16, 0, -1)]
    sizes = {"embed_dim": 8, "hidden_dim": 8, "share_decoder_input_output_embed": tied}
    args = argparse.Namespace(output_bias_init="unigram", **sizes)
    bias = model_class.build_model(args, words).decoder.output_projection.bias.detach()
    total = 16 + 1.5 + sum(range(17))  # the end of a sentence is as frequent as the first word
    expected = [0.5, 0.5, 16, 0.5, *range(16, 0, -1)]
    torch.testing.assert_close(bias.exp() * total, torch.tensor(expected, dtype=torch.float))
    assert not model_class.build_model(
        argparse.Namespace(**sizes), words
    ).decoder.output_projection.bias.any()


def test_the_words_of_a_shortened_dictionary_count_as_unknown():
    words = dictionary(20)
    words.count = [1, 1, 1, 1, *range(20, 0, -1)]
    logits = unigram_logits(TruncatedDictionary(words, 14))  # 10 of the 20 words
    assert float((logits[words.unk()] - logits[4]).exp()) == pytest.approx(sum(range(11)) / 20)


@pytest.mark.parametrize("kind", ["gru", "lm"])
def test_dropout_where_it_is_asked_for(kind, monkeypatch):
    rates = []

    def dropout(x, p, training):
        rates.append(p if training else 0.0)
        return x

    monkeypatch.setattr("torch.nn.functional.dropout", dropout)
    net = build(kind, "content", dropout=0.5).train()
    run(net, pad(sentences(SOURCE), left=True), prefixes())
    # embeddings and recurrent layer of each side, and the readout
    assert rates == [0.5] * (5 if kind == "gru" else 3)
    rates.clear()
    net = build(kind, "content", dropout=0.5, dropout_after="readout").train()
    run(net, pad(sentences(SOURCE), left=True), prefixes())
    assert [rate for rate in rates if rate] == [0.5]
    assert rates[-1] == 0.5
    rates.clear()
    run(net.eval(), pad(sentences(SOURCE), left=True), prefixes())
    assert not any(rates)


def count(net):
    return sum(parameter.numel() for parameter in net.parameters()) / 1e6


@pytest.mark.parametrize(
    ("readout", "published"),
    [
        ("baseline", 108.7),
        ("memory-rnn", 109.7),
        ("self-attentive-rnn", 110.2),
        ("mean", 108.7),
        ("content", 108.9),
    ],
)
def test_published_parameter_counts(readout, published):
    """Table 1: 50K words on either side."""
    with torch.device("meta"):
        net = GRUModel.build_model(argparse.Namespace(readout=readout), task(50_000 - 4))
    assert count(net) == pytest.approx(published, rel=0.003)


@pytest.mark.parametrize(("readout", "width"), [("plain", 300), ("mean", 296), ("content", 296)])
def test_published_language_models_have_47_million_parameters(readout, width):
    """Table 6, with the 77K words of Daniluk et al. 2017; published as whole millions."""
    args = argparse.Namespace(readout=readout, embed_dim=width, hidden_dim=width)
    with torch.device("meta"):
        net = LSTMLanguageModel.build_model(args, task(77_000 - 4))
    assert round(count(net)) == 47


BAD = [
    ("gru", {"readout": "contents"}, "--readout: 'contents' is not one of .* Did you mean"),
    ("gru", {"readout": "plain"}, "--readout"),
    ("gru", {"dropout": 1.0}, "--dropout: 1.0"),
    ("gru", {"embed_dim": 0}, "--embed-dim: 0 is not at least 1"),
    (
        "lm",
        {"readout": "plain", "share_decoder_input_output_embed": True},
        "--share-decoder-input-output-embed: with --readout plain",
    ),
]


@pytest.mark.parametrize(("kind", "settings", "message"), BAD)
def test_bad_settings_are_named(kind, settings, message):
    readout = settings.get("readout", "content")
    with pytest.raises(ConfigError, match=message):
        build(kind, **{"readout": readout, **settings})


def test_tied_embeddings_need_one_dictionary():
    both = argparse.Namespace(source_dictionary=dictionary(9), target_dictionary=dictionary(7))
    args = argparse.Namespace(share_decoder_input_output_embed=True)
    with pytest.raises(ConfigError, match="--output-dictionary-size"):
        LSTMLanguageModel.build_model(args, both)
