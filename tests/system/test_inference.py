"""Trained models as a library and as commands use them: odd arguments, long and foreign text."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import select
import shutil
import subprocess
import sys
from pathlib import Path

import forks
import numpy as np
import pytest
import torch
from commands import ROOT
from commands import run as start

import dc_nmt_plugin
from dc_nmt_plugin import cli
from dc_nmt_plugin.checkpoints.loading import load_checkpoint
from dc_nmt_plugin.errors import UserError

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
    ("flags", "message"),
    [
        (["--nbest", "2"], "--nbest: fairseq-generate has it, this command has not"),
        (["--path", "x"], "--path: this command sets it by itself"),
        (["-s", "de"], "--source-lang: this command sets it by itself"),
        (["--nonsense"], "--nonsense: fairseq-generate has no such flag"),
    ],
)
def test_flags_that_would_be_lost(flags, message, call):
    with pytest.raises(UserError, match=message):
        dc_nmt_plugin.load(STANDARD, flags=flags)
    code, output, errors = call("translate", STANDARD, "--sentence", "A dog.", *flags)
    assert code == 2 and not output and message in errors and errors.count("\n") == 1


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


def test_a_program_that_waits_for_each_line():
    source, sentences = os.pipe()

    def translate():
        os.dup2(source, 0)
        os.close(sentences)  # otherwise the input would have no end
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115
        return cli.main(["translate", str(STANDARD), "--buffer-size", "1", "--cpu"])

    process = forks.Fork(translate, subprocess.PIPE)
    with os.fdopen(sentences, "w", buffering=1) as write:
        for sentence in ("A dog.", "Two dogs."):
            write.write(f"{sentence}\n")
            assert select.select([process.stdout], [], [], 60)[0], "no answer"
            assert process.stdout.readline().strip()
    assert process.stdout.read() == b"" and process.wait() == 0


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


@pytest.mark.parametrize("name", ["checkpoint_99_9999.pt", "checkpoint7.pt", "checkpoint_last.pt"])
def test_a_mean_has_no_name_of_a_training(name, call, tmp_path):
    for number in (1, 2):
        shutil.copy(STANDARD / "average/checkpoint.pt", tmp_path / f"checkpoint_1_{number}.pt")
    code, output, errors = call("average", tmp_path, "--last", 2, "--out", tmp_path / name)
    assert (code, output) == (2, "") and "is a name that a training writes" in errors
    assert not (tmp_path / name).exists()


# -- what analyses show ----------------------------------------------------------------------------


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
    assert code == 2 and "BLEU by source length" in output
    assert "--plot: there is nothing to draw" in errors
    assert not list(tmp_path.iterdir())
