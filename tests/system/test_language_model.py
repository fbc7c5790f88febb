"""``lstm_lm_selfattn_residual`` from raw text to perplexity, with fairseq's own commands."""

from __future__ import annotations

import math
import re

import pytest
import torch
from commands import assert_explained, run
from fairseq import checkpoint_utils
from fairseq.data import Dictionary
from systems import SOURCE, write_text

ARCH = "lstm_lm_selfattn_residual"
TASK = ["--task", "language_modeling"]
BLOCK = 11
BLOCKS = ["--sample-break-mode", "none", "--tokens-per-sample", BLOCK]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Binarised text of one language; the test set has 21 sentences, one of them empty."""
    folder = tmp_path_factory.mktemp("monolingual")
    text = folder / "text"
    write_text(text, {"train": 60, "valid": 5, "test": 20})
    with open(text / f"test.{SOURCE}", "a", encoding="utf-8") as file:
        file.write("\n")
    prefixes = [
        piece
        for split in ("train", "valid", "test")
        for piece in (f"--{split}pref", text / f"{split}.{SOURCE}")
    ]
    words = ["--only-source", *prefixes, "--destdir", folder / "data", "--workers", 1]
    run(folder, "preprocess", *words).good()
    return folder / "data"


def training(data, save, arch, *changes):
    return [
        *(data, "--save-dir", save, *TASK, "--arch", arch, "--criterion", "gru_selfattn_residual"),
        *("--embed-dim", 10, "--hidden-dim", 14, *BLOCKS, "--cpu", "--seed", 5),
        *("--optimizer", "adam", "--lr", 0.01, "--max-tokens", 90, "--num-workers", 0),
        *("--log-format", "json", "--max-epoch", 2, *changes),
    ]


def scoring(data, checkpoint, *changes):
    return [data, "--path", checkpoint, *TASK, *BLOCKS, "--cpu", "--num-workers", 0, *changes]


def blocks(data):
    """Token ids that are scored together, from the text itself."""
    words = Dictionary.load(str(data / "dict.txt"))
    lines = (data.parent / "text" / f"test.{SOURCE}").read_text(encoding="utf-8").splitlines()
    rows = [[words.index(word) for word in line.split()] + [words.eos()] for line in lines]
    stream = [token for row in rows for token in row]
    before = [words.eos(), *stream[:-1]]
    starts = range(0, len(stream), BLOCK)
    return [(before[start : start + BLOCK], stream[start : start + BLOCK]) for start in starts]


def reported(result):
    """Tokens, loss in bits and perplexity, as fairseq-eval-lm prints them."""
    text = result.output + result.errors
    [tokens] = re.findall(r"Evaluated ([\d,]+) tokens", text)
    [(loss, perplexity)] = re.findall(r"Loss \(base 2\): ([\d.]+), Perplexity: ([\d.]+)", text)
    return int(tokens.replace(",", "")), float(loss), float(perplexity)


def test_the_same_perplexity_at_any_batch_size(data, tmp_path):
    """And that of a forward pass for one row at a time, over every token of the text."""
    printed = run(tmp_path, "train", *training(data, tmp_path, ARCH)).good()
    checkpoint = tmp_path / "checkpoint_last.pt"
    [model], _ = checkpoint_utils.load_model_ensemble([str(checkpoint)])
    model.eval()
    total, count = 0.0, 0
    for before, target in blocks(data):
        with torch.no_grad():
            logits, _ = model(torch.tensor([before]))
        chosen = torch.log_softmax(logits[0].double(), dim=-1)[range(len(target)), target]
        total, count = total - float(chosen.sum()), count + len(target)
    bits = total / count / math.log(2)
    for flags in (["--batch-size", 1], ["--batch-size", 5], ["--max-tokens", 1000]):
        result = run(tmp_path, "eval-lm", *scoring(data, checkpoint, *flags)).good()
        assert reported(result) == (
            count,
            pytest.approx(bits, abs=1e-4),
            pytest.approx(2**bits, abs=0.006),
        )
    for name in ("entropy", "last"):
        assert len(printed.logged(f"valid_previous_{name}")) == 2


def test_another_readouts_checkpoints_are_refused(data, tmp_path):
    """Mean and baseline have the same parameters: nothing else would notice."""
    flags = ["--max-update", 1, "--sample-break-mode", "eos"]
    baseline = training(data, tmp_path, f"{ARCH}_baseline", *flags)
    run(tmp_path, "train", *baseline).good()
    command = training(data, tmp_path, f"{ARCH}_mean", "--max-epoch", 3)
    assert_explained(run(tmp_path, "train", *command), tmp_path, f"'{ARCH}_baseline'")
