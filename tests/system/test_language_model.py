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


def blocks(data, context=0):
    """Words read and predicted together, from the text itself, `context` words before each block.

    Yields ids before each word, ids of the words, and the number of words that only are context.
    """
    words = Dictionary.load(str(data / "dict.txt"))
    lines = (data.parent / "text" / f"test.{SOURCE}").read_text(encoding="utf-8").splitlines()
    stream = [words.index(word) for line in lines for word in (*line.split(), words.eos_word)]
    before = [words.eos(), *stream[:-1]]
    for start in range(0, len(stream), BLOCK):
        first, end = max(0, start - context), start + BLOCK
        yield before[first:end], stream[first:end], start - first


def bits(model, data, context=0):
    """Number of words, and their mean bits by a forward pass for one block at a time."""
    total, count = 0.0, 0
    for before, target, unscored in blocks(data, context):
        with torch.no_grad():
            logits, _ = model(torch.tensor([before]))
        chosen = torch.log_softmax(logits[0].double(), dim=-1)[range(len(target)), target]
        total, count = total - float(chosen[unscored:].sum()), count + len(target) - unscored
    return count, total / count / math.log(2)


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
    cases = [(0, ["--batch-size", 1]), (0, ["--batch-size", 5]), (0, ["--max-tokens", 1000])]
    window = ["--context-window", 4, "--tokens-per-sample", BLOCK + 4, "--max-tokens", 30]
    for context, flags in [*cases, (4, window)]:
        count, expected = bits(model, data, context)
        result = run(tmp_path, "eval-lm", *scoring(data, checkpoint, *flags)).good()
        numbers = pytest.approx(expected, abs=1e-4), pytest.approx(2**expected, abs=0.006)
        assert reported(result) == (count, *numbers)
    for name in ("entropy", "last"):
        assert len(printed.logged(f"valid_previous_{name}")) == 2


def test_another_readouts_checkpoints_are_refused(data, tmp_path):
    """Mean and baseline have the same parameters: nothing else would notice."""
    flags = ["--max-update", 1, "--sample-break-mode", "eos"]
    baseline = training(data, tmp_path, f"{ARCH}_baseline", *flags)
    run(tmp_path, "train", *baseline).good()
    command = training(data, tmp_path, f"{ARCH}_mean", "--max-epoch", 3)
    assert_explained(run(tmp_path, "train", *command), tmp_path, f"'{ARCH}_baseline'")
