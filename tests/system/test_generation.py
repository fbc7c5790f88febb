"""Beam search under fairseq's generator: scores, length penalty, ensembles."""

from __future__ import annotations

import argparse

import pytest
import torch
from commands import run
from fairseq import checkpoint_utils
from systems import FAMILIES, SOURCE, SPLITS, generation, task

SEVERAL = ["transformer_dc", "transformer_ms_aux_aif"]
ALPHA = 0.6
WIDTH = 16  # of the fixture `lively`


@pytest.fixture(scope="module")
def systems(corpus, lively):
    """Architecture → task, model, and one batch of the test set."""
    loaded = {}

    def of(arch):
        if arch not in loaded:
            name, _ = FAMILIES[arch]
            loaded_task = task(name, corpus)
            [model], _ = checkpoint_utils.load_model_ensemble([str(lively(arch))], task=loaded_task)
            loaded_task.load_dataset("test")
            data = loaded_task.dataset("test")
            loaded[arch] = loaded_task, model.eval(), data.collater([data[i] for i in range(12)])
        return loaded[arch]

    return of


def search(loaded_task, models, batch, **settings):
    """Every sentence's hypotheses, best first."""
    flags = {"beam": 4, "max_len_a": 1, "max_len_b": 3, "lenpen": ALPHA, **settings}
    generator = loaded_task.build_generator(models, argparse.Namespace(**flags))
    with torch.no_grad():
        return loaded_task.inference_step(generator, models, batch)


def teacher_forced(loaded_task, model, batch, hypotheses):
    """Log-probability of every token of one hypothesis a sentence, in one full forward pass."""
    tokens = [row["tokens"] for row in hypotheses]
    eos, pad = loaded_task.target_dictionary.eos(), loaded_task.target_dictionary.pad()
    target = torch.nn.utils.rnn.pad_sequence(tokens, batch_first=True, padding_value=pad)
    before = torch.cat([torch.full((len(tokens), 1), eos), target[:, :-1]], dim=1)
    net_input = {**batch["net_input"], "prev_output_tokens": before}
    with torch.no_grad():
        logits, _ = model(**net_input)
    scores = torch.log_softmax(logits, dim=-1).gather(2, target.unsqueeze(2)).squeeze(2)
    return [row[: len(sentence)] for row, sentence in zip(scores, tokens, strict=True)]


@pytest.mark.parametrize("arch", SEVERAL)
def test_scores_are_those_of_a_full_forward_pass(arch, systems):
    loaded_task, model, batch = systems(arch)
    best = [rows[0] for rows in search(loaded_task, [model], batch)]
    assert len({tuple(row["tokens"].tolist()) for row in best}) > 1
    for row, scores in zip(best, teacher_forced(loaded_task, model, batch, best), strict=True):
        assert torch.allclose(row["positional_scores"], scores, atol=1e-5)
        length = len(row["tokens"])
        assert float(row["score"]) == pytest.approx(float(scores.sum()) / length**ALPHA, abs=1e-4)


def test_an_ensemble_of_two_architectures_averages_their_probabilities(systems):
    loaded_task, first, batch = systems("transformer_dc")
    _, second, _ = systems("transformer_ms_aux_aif")
    best = [rows[0] for rows in search(loaded_task, [first, second], batch)]
    scores = [teacher_forced(loaded_task, model, batch, best) for model in (first, second)]
    for row, one, other in zip(best, *scores, strict=True):
        mean = ((one.exp() + other.exp()) / 2).log()
        assert torch.allclose(row["positional_scores"], mean, atol=1e-5)


def test_length_penalty_of_generate_and_interactive(corpus, lively, tmp_path):
    checkpoint = lively("transformer_dc")
    flags = ["--length-penalty", "wu", "--lenpen", ALPHA, "--nbest", 4, "--beam", 4]
    flags = generation(corpus, checkpoint, "transformer_dc", *flags)
    source = corpus.parent / "text" / f"test.{SOURCE}"
    for program, extra in (("generate", []), ("interactive", ["--input", source])):
        hypotheses = run(tmp_path, program, *flags, *extra).good().scored()
        assert len(hypotheses) == 4 * SPLITS["test"]
        assert len({len(tokens) for _, tokens in hypotheses}) > 1
        for score, tokens in hypotheses:
            # |Y| counts the end token
            assert score == pytest.approx(sum(tokens) / ((5 + len(tokens)) / 6) ** ALPHA, abs=2e-3)
