"""Trained models as a library and as commands use them: odd arguments, long and foreign text."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import ROOT
from commands import run as start

import dc_nmt_plugin
from dc_nmt_plugin import cli
from dc_nmt_plugin.checkpoints.loading import load_checkpoint
from dc_nmt_plugin.errors import TextWarning, UserError

MODELS = ROOT / "examples/multi30k_en_de/models"
STANDARD, DUAL = MODELS / "transformer_standard-s1", MODELS / "transformer_dc_modern-s1"
TEXT = [
    *("--source", ROOT / "examples/multi30k_en_de/sentences.en"),
    *("--reference", ROOT / "examples/multi30k_en_de/sentences.de"),
]


@pytest.fixture
def call(capfd, cwd):
    """Run a command of dc-nmt; its exit status, output and errors."""

    def run(*words):
        code = cli.main([str(word) for word in words])
        return code, *capfd.readouterr()

    return run


@pytest.fixture(scope="module")
def loaded():
    return dc_nmt_plugin.load(STANDARD, flags=["--cpu"])


def draws():
    return random.random(), float(np.random.rand()), float(torch.rand(1))


def test_the_users_random_numbers_are_left_alone():
    """The next numbers are those of the user's seed, after everything that a run does."""
    steps = [
        lambda: dc_nmt_plugin.load(STANDARD, flags=["--cpu"]),
        lambda: run.translate(["A dog."]),
        lambda: run.attention("A dog."),
        lambda: sampling.translate(["A dog runs."]),
    ]
    run = dc_nmt_plugin.load(STANDARD, flags=["--cpu"])
    sampling = dc_nmt_plugin.load(STANDARD, flags=["--cpu", "--sampling", "--beam", "1"])
    for step in steps:
        after = []
        for begin in (lambda: None, step):
            random.seed(6), np.random.seed(6), torch.manual_seed(6)
            begin()
            after.append(draws())
        assert after[0] == after[1]


def test_samples_do_not_depend_on_the_users_random_numbers():
    texts = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        run = dc_nmt_plugin.load(STANDARD, flags=["--cpu", "--sampling", "--beam", "1"])
        draw = [run.translate(["A man is riding a red bicycle ."])[0].hypothesis for _ in range(4)]
        texts.append(draw)
    assert texts[0] == texts[1] and len(set(texts[0])) > 1


@pytest.mark.parametrize(
    ("arguments", "words", "message"),
    [
        ({"tokenizer": "mose"}, ["--tokenizer", "mose"], "'mose' is not one of .*Did you mean"),
        ({"flags": ["--beam", "0"]}, ["--beam", "0"], "--beam: 0 is not allowed; give from 1"),
        ({"flags": ["--nbest", "2"]}, ["--nbest", "2"], "--nbest: fairseq-generate has it, this"),
        ({"flags": ["--path", "x"]}, ["--path", "x"], "--path: this command sets it by itself"),
        ({"flags": ["--nonsense"]}, ["--nonsense"], "--nonsense: fairseq-generate has no such"),
        ({"data": "none"}, ["--data", "none"], "data none: has no dictionaries"),
        ({"codes": "none"}, ["--bpe-codes", "none"], "codes none: no such file"),
        ({"user_dir": "none"}, ["--user-dir", "none"], "is neither a folder nor an installed"),
    ],
)
def test_load_refuses_what_the_command_refuses(arguments, words, message, call):
    with pytest.raises(UserError, match=message):
        dc_nmt_plugin.load(STANDARD, **arguments)
    code, output, errors = call("translate", STANDARD, "--sentence", "A dog.", *words)
    assert code in (1, 2) and not output and words[0] in errors
    assert errors.count("\n") == 1 and "Traceback" not in errors


def test_a_sentence_is_not_longer_than_the_positions(loaded, call):
    """The attention of more positions than the model has would be one of no model."""
    message = "has 1,501 pieces with its end, and the model 1,024 positions: split it"
    with pytest.raises(UserError, match=f"line 2: {message}"):
        loaded.translate(["five", "five " * 1500])
    with pytest.raises(UserError, match=f"sentence: {message}"):
        loaded.attention("five " * 1500)
    with pytest.raises(UserError, match=r"target: has .* pieces with its end"):
        loaded.attention("five", "zwei " * 1500)
    code, output, errors = call("analyze", "matrix", STANDARD, "--sentence", "five " * 1500)
    assert (code, output) == (1, "") and f"--sentence: {message}" in errors


def test_text_of_which_the_model_knows_no_word_is_named(loaded, call):
    foreign = "犬 が 走る 。"
    with pytest.warns(TextWarning, match="line 2: the model knows no word of it"):
        loaded.translate(["A dog.", foreign])
    with pytest.warns(TextWarning, match="sentence: the model knows no word"):
        loaded.attention(foreign)
    words = [word for line in ("A dog.", foreign, foreign) for word in ("--sentence", line)]
    code, output, errors = call("translate", STANDARD, "--cpu", *words)
    assert code == 0 and len(output.splitlines()) == 3
    assert re.search(r"^warning: line 2 \(and of 1 more\): the model knows no word", errors, re.M)
    code, _, errors = call("analyze", "matrix", STANDARD, "--cpu", "--sentence", foreign)
    assert code == 0 and "warning: --sentence: the model knows no word" in errors
    _, _, errors = call("translate", STANDARD, "--cpu", "--sentence", "3 + 4 = 7 Xyzzy .")
    assert "warning" not in errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["translate", STANDARD, "--sentence", "A dog runs.", "--max-tokens", "2"],
            "--max-tokens 2: a sentence has 5 tokens; give at least as many",
        ),
        (
            ["translate", STANDARD, "--sentence", "A dog.", "--min-len", "2000"],
            "--min-len 2000: is not below the model's 1,024 positions",
        ),
        (
            ["translate", STANDARD, "--sentence", "A dog.", "--diverse-beam-groups", "5"],
            "--diverse-beam-groups: fairseq-generate has it, this command has not",
        ),
        (["analyze", "attention", STANDARD, *TEXT, "--out", "x.json"], "--out: fairseq-generate"),
        (["analyze", "curves", "R"], "curve.log, line 1: num_updates is 'many', which is no num"),
    ],
)
def test_a_wrong_value_is_one_sentence(words, message, call):
    if words[-1] == "R":
        folder = Path("R")
        folder.mkdir()
        row = json.dumps({"num_updates": "many", "loss": "3.1"})
        (folder / "curve.log").write_text(f"x | INFO | train_inner | {row}\n")
    code, output, errors = call(*words, *([] if words[1] == "curves" else ["--cpu"]))
    assert code in (1, 2) and not output
    assert message in errors and "Traceback" not in errors and errors.count("\n") == 1
    assert "--quiet" not in errors


@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="reads /proc")
def test_more_text_than_memory_is_one_sentence(tmp_path):
    def limit():
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + 500 * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    words = ["dc-nmt", "translate", STANDARD, "/dev/zero", "--cpu"]
    done = start(tmp_path, *words, before=limit)
    assert done.code == 1 and "Traceback" not in done.errors
    assert "error: there is not enough memory" in done.errors.splitlines()[-1]


def test_a_closed_output_is_no_error(tmp_path):
    def close():
        os.close(1)
        sys.stdout = None  # as Python begins then

    words = ["dc-nmt", "translate", STANDARD, "--sentence", "five", "--cpu"]
    done = start(tmp_path, *words, before=close)
    assert (done.code, done.errors) == (0, "")


# -- means of checkpoints --------------------------------------------------------------------------


def test_one_value_for_a_whole_parameter_is_averaged(call, tmp_path):
    """A tensor that is expanded shares one row in the file."""
    state = load_checkpoint(str(STANDARD / "average/checkpoint.pt"))
    name = next(name for name, tensor in state["model"].items() if tensor.dim() == 2)
    state["model"][name] = state["model"][name][:1].expand_as(state["model"][name])
    torch.save(state, tmp_path / "expanded.pt")
    out = tmp_path / "mean.pt"
    words = ["average", tmp_path / "expanded.pt", STANDARD / "average/checkpoint.pt"]
    assert call(*words, "--out", out)[0] == 0
    assert load_checkpoint(str(out))["model"][name].is_contiguous()


@pytest.mark.parametrize("folder", ["average", "average-3"])
def test_a_mean_is_replaced_by_its_own_run_alone(folder, call, tmp_path):
    for run in ("one", "two"):
        shutil.copytree(STANDARD / "average", tmp_path / run / folder)
        shutil.copytree(STANDARD / "average", tmp_path / run / "checkpoints")
    source, mean = (
        tmp_path / "one/checkpoints/checkpoint.pt",
        tmp_path / "two" / folder / "checkpoint.pt",
    )
    before = mean.read_bytes()
    code, _, errors = call("average", source, "--out", mean)
    assert code == 2 and "is the mean of another run" in errors and mean.read_bytes() == before
    assert call("average", source, "--out", tmp_path / "one" / folder / "checkpoint.pt")[0] == 0


# -- what analyses show ----------------------------------------------------------------------------


def test_attention_counts_all_keys_unless_asked_for_the_thesiss(call):
    found = {}
    for keys in ("all", "lower"):
        words = ["--sentences", 10, "--cpu"] + (["--keys", keys] if keys == "lower" else [])
        _, output, _ = call("analyze", "attention", STANDARD, *TEXT, *words)
        heading = {
            "all": "means over heads and all keys",
            "lower": "and keys up to the query (j ≤ i",
        }
        assert heading[keys] in output
        _, output, _ = call("analyze", "attention", STANDARD, *TEXT, *words, "--json")
        (found[keys],) = json.loads(output)["runs"].values()
        assert found[keys]["keys"] == keys
    for every, below in zip(found["all"]["layers"], found["lower"]["layers"], strict=True):
        assert every["entropy"] > 1.2 * below["entropy"]
    code, _, errors = call(
        "analyze", "attention", STANDARD, *TEXT, "--of", "source", "--keys", "lower"
    )
    assert code == 2 and "--keys lower: is for self-attention" in errors


def test_the_gains_of_length_groups_are_in_json_as_in_the_table(call):
    words = ["analyze", "lengths", STANDARD, DUAL, *TEXT, "--edges", "8", "--cpu"]
    _, table, _ = call(*words)
    _, report, _ = call(*words, "--json")
    first, second = json.loads(report)["runs"].values()
    rows = [re.split(r"  +", line.strip()) for line in table.splitlines()]
    (all_row,) = [row for row in rows if row[0] == "all"]
    whole = second["whole"]
    assert whole["bleu"] == second["bleu"] and "difference" not in first["whole"]
    low, high = whole["against"]["interval"]
    assert f"{whole['difference']:+.2f}" in all_row and f"[{low:.2f}, {high:.2f}]" in all_row
    groups = [group for group in second["groups"] if group["bleu"] is not None]
    assert groups and all(group["against"]["value"] for group in groups)


def test_nothing_to_draw_is_no_figure(call, tmp_path):
    words = ["analyze", "lengths", STANDARD, *TEXT, "--sentences", 20, "--cpu"]
    code, output, errors = call(*words, "--plot", tmp_path / "figure.png")
    assert (code, output) == (2, "") and "--plot: there is nothing to draw" in errors
    assert not list(tmp_path.iterdir())


def test_letters_without_a_font_are_named(call, tmp_path, monkeypatch):
    from matplotlib.font_manager import fontManager

    few = [font for font in fontManager.ttflist if font.name == "DejaVu Sans"]
    monkeypatch.setattr(fontManager, "ttflist", few)
    words = ["analyze", "matrix", STANDARD, "--cpu", "--sentence", "a dog", "--names", "日本語"]
    code, _, errors = call(*words, "--plot", tmp_path / "figure.png")
    assert code == 0
    (warning,) = [line for line in errors.splitlines() if "warning" in line]
    assert "no font here has the letters 日本語, so" in warning and "fonts-noto-cjk" in warning
