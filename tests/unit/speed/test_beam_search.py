"""Our beam search finds what fairseq's finds, on whatever log-probabilities."""

import math

import pytest
import torch
from fairseq.models import FairseqIncrementalDecoder
from fairseq.sequence_generator import SequenceGenerator
from helpers import dictionary

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.modules.core.source import Source
from dc_nmt_plugin.speed.beam_search import BeamSearchGenerator, RepeatBlocker

WORDS = 30


class Encoder(torch.nn.Module):
    def forward_torchscript(self, net_input):
        return Source(features=[net_input["src_tokens"]], padding=None)

    def reorder_encoder_out(self, encoder_out, new_order):
        return encoder_out.reorder(new_order)


class Decoder(FairseqIncrementalDecoder):
    """Log-probabilities by the source, the whole prefix and its length; keeps its prefixes."""

    one_source_a_sentence, need_attn = True, False

    def __init__(self, words, sharpness, nan_after=None):
        super().__init__(words)
        generator = torch.Generator().manual_seed(3)
        self.table = sharpness * torch.randn(997, len(words), generator=generator)
        self.table[:, words.eos()] += 1.0
        self.nan_after = nan_after

    def forward(self, tokens, encoder_out=None, incremental_state=None):
        source = encoder_out.features[0].repeat_interleave(encoder_out.beam, dim=0)
        assert len(tokens) == len(source)
        kept = incremental_state.setdefault("prefix", {"rows": tokens[:, :0]})
        assert torch.equal(kept["rows"], tokens[:, :-1])  # reordered as the hypotheses are
        kept["rows"] = tokens.clone()
        weights = torch.arange(1, tokens.size(1) + 1) * 7
        key = ((tokens * weights).sum(1) + source.sum(1) * 13) % 997
        logits = self.table[key][:, None].clone()
        if tokens.size(1) == self.nan_after:
            logits[::4] = math.nan
        attn = torch.softmax(logits[:, :, : source.size(1)], dim=-1) if self.need_attn else None
        return logits, {"attn": [attn]}

    def reorder_incremental_state(self, incremental_state, new_order):
        kept = incremental_state["prefix"]
        kept["rows"] = kept["rows"].index_select(0, new_order)

    def max_positions(self):
        return 60


class Model(torch.nn.Module):
    def __init__(self, words, sharpness, **options):
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder(words, sharpness, **options)

    def get_normalized_probs(self, output, log_probs, sample):
        return torch.log_softmax(output[0], dim=-1)

    def max_decoder_positions(self):
        return 60


SETTINGS = {
    "plain": {},
    "beam of one": {"beam_size": 1},
    "all of one length": {"min_len": 6, "max_len_b": 6},
    "not normalised": {"normalize_scores": False},
    "penalties": {"len_penalty": 0.6, "unk_penalty": 0.5},
    "temperature": {"temperature": 1.7},
    "by source length": {"max_len_a": 1.0, "max_len_b": 2},
    "no longer than the model can": {"min_len": 40, "max_len_b": 100},
}


def searched(generator_class, models, words, batch, settings):
    settings = {"beam_size": 4, "max_len_b": 12, **settings}
    return generator_class(models, words, **settings).generate(models, batch)


def assert_same(ours, expected):
    for mine, yours in zip(ours, expected, strict=True):
        assert len(mine) == len(yours)
        for one, other in zip(mine, yours, strict=True):
            assert one["tokens"].tolist() == other["tokens"].tolist()
            for name in ("score", "positional_scores", "attention"):
                assert torch.allclose(one[name], other[name], atol=1e-5), name


@pytest.fixture
def words():
    return dictionary(WORDS)


@pytest.fixture
def batch(words):
    source = torch.randint(4, WORDS, (9, 5), generator=torch.Generator().manual_seed(1))
    return {"net_input": {"src_tokens": source, "src_lengths": torch.full((9,), 5)}}


@pytest.mark.parametrize("sharpness", [0.3, 2.0])
@pytest.mark.parametrize("name", SETTINGS)
def test_hypotheses_and_scores_are_fairseqs(name, sharpness, words, batch):
    models = [Model(words, sharpness)]
    results = [
        searched(kind, models, words, batch, SETTINGS[name])
        for kind in (BeamSearchGenerator, SequenceGenerator)
    ]
    assert len({len(row["tokens"]) for rows in results[1] for row in rows}) > (
        0 if "min_len" in SETTINGS[name] else 1
    )
    assert_same(*results)


def test_nan_ends_no_search(words, batch):
    results = searched(BeamSearchGenerator, [Model(words, 1.0, nan_after=3)], words, batch, {})
    assert all(len(rows) == 4 for rows in results)


def test_a_sentence_without_a_translation_is_told(words, batch):
    model = Model(words, 1.0)
    model.decoder.table[:] = math.nan
    with pytest.raises(UserError, match=r"9 of 9 sentences.*not numbers \(NaN\)"):
        searched(BeamSearchGenerator, [model], words, batch, {})


@pytest.mark.parametrize(
    ("settings", "need_attn"),
    [({"match_source_len": True}, False), ({"tokens_to_suppress": ["w3"]}, False), ({}, True)],
)
def test_what_is_more_than_beam_search_is_fairseqs(settings, need_attn, words, batch):
    models = [Model(words, 1.0)]
    models[0].decoder.need_attn = need_attn
    ours, stock = (
        searched(kind, models, words, batch, settings)
        for kind in (BeamSearchGenerator, SequenceGenerator)
    )
    assert_same(ours, stock)
    assert bool(ours[0][0]["attention"].numel()) == need_attn


class LoopBlocker(torch.nn.Module):
    """Forbids each word that would repeat an n-gram of its hypothesis."""

    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, tokens, lprobs, sentences, beam, step):
        for row, scores in zip(tokens[:, 1 : step + 1].tolist(), lprobs, strict=True):
            grams = {tuple(row[n : n + self.size]) for n in range(len(row) - self.size + 1)}
            for word in range(len(scores)):
                if (*row[len(row) - self.size + 1 :], word) in grams:
                    scores[word] = -math.inf
        return lprobs


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_ngram_twice(size, words, batch):
    models, results = [Model(words, 0.3)], []
    plain = searched(BeamSearchGenerator, models, words, batch, {"min_len": 12})
    # in fairseq's loop with a plain reference, in it with ours (as sampling does), in our own
    searches = [(SequenceGenerator, LoopBlocker), (SequenceGenerator, RepeatBlocker)]
    for kind, blocker in [*searches, (BeamSearchGenerator, RepeatBlocker)]:
        settings = {"beam_size": 4, "max_len_b": 12, "min_len": 12, "no_repeat_ngram_size": size}
        generator = kind(models, words, **settings)
        generator.repeat_ngram_blocker = blocker(size)
        results.append(generator.generate(models, batch))
    assert_same(results[0], results[1])
    assert_same(results[0], results[2])
    texts = [[rows[0]["tokens"].tolist() for rows in each] for each in (plain, results[0])]
    assert texts[0] != texts[1]
