"""``dc-nmt time-to-bleu``: models trained side by side, an update of each in turn."""

from __future__ import annotations

import json
import time

import pytest
import torch
from fairseq import checkpoint_utils
from systems import load, train, training

from dc_nmt_plugin.bench.learning import Learner, train_until
from dc_nmt_plugin.cli import main

ARCH = "transformer_standard"
UPDATES = 12


@pytest.fixture(autouse=True)
def nothing_left():
    """Forget the best value, which fairseq keeps in its function, and forked programs inherit."""
    yield
    vars(checkpoint_utils.save_checkpoint).pop("best", None)


@pytest.fixture
def flags(corpus, tmp_path):
    made = training(corpus, tmp_path, "--max-update", UPDATES)[1:]
    return [str(flag) for flag in [*made, "--no-save"]]


@pytest.fixture
def side_by_side(corpus, flags):
    return train_until(
        ["stock", ARCH],
        ARCH,
        str(corpus),
        flags,
        bleu=100,
        every=5,
        device="cpu",
        clock=time.process_time,
        progress=lambda subject: None,
    )


def test_a_model_learns_as_in_a_training_of_its_own(corpus, flags, tmp_path):
    train(corpus, tmp_path, ARCH, "--max-update", UPDATES).good()
    alone = load(tmp_path)["model"]
    learner = Learner(
        ARCH, ARCH, str(corpus), flags, every=5, device="cpu", clock=time.process_time
    )
    while not learner.advance().ended:
        pass
    beside = learner.trainer.model.state_dict()
    for name, parameter in alone.items():
        assert torch.equal(beside[name], parameter), name


def test_a_save_folder_that_is_there_is_not_continued(corpus, tmp_path, monkeypatch, capsys):
    flags = training(corpus, tmp_path, "--max-update", 2)[1:]
    place = flags.index("--save-dir")
    flags[place : place + 2] = []
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints/checkpoint_last.pt").write_text("of another training")
    monkeypatch.chdir(tmp_path)
    command = ["time-to-bleu", ARCH, "--data", corpus, "--bleu", 99, "--every", 2, "--json"]
    assert main([str(word) for word in [*command, *flags]]) == 0
    output = capsys.readouterr().out
    rows = json.loads(output[output.index("{\n") :])["results"]
    assert [row["curve"][-1][0] for row in rows] == [2, 2]


def test_every_validation_has_its_time_and_score(side_by_side):
    assert [subject.name for subject in side_by_side] == ["stock", ARCH]
    for subject in side_by_side:
        assert [point.updates for point in subject.curve] == [5, 10, UPDATES]
        seconds = [point.seconds for point in subject.curve]
        assert 0 < seconds[0] < seconds[1] < seconds[2] == subject.seconds
        assert subject.reached(subject.curve[0].bleu) == subject.curve[0]
        assert subject.reached(100.5) is None


def test_a_model_stops_where_it_has_reached_the_score(corpus, tmp_path, capsys):
    flags = training(corpus, tmp_path, "--max-update", 60)[1:]
    flags[flags.index("--lr") + 1] = 0.02
    command = ["time-to-bleu", ARCH, "--data", corpus, "--bleu", 0.5, "--every", 20, "--json"]
    assert main([str(word) for word in [*command, *flags]]) == 0
    output = capsys.readouterr().out
    stock, ours = json.loads(output[output.index("{\n") :])["results"]
    assert (stock["name"], ours["name"]) == ("stock", ARCH)
    assert ours["updates"] == ours["curve"][-1][0] < 60
    assert ours["curve"][-1][2] >= 0.5
    assert ours["ratio"] == pytest.approx(ours["seconds"] / stock["seconds"])


def test_a_model_may_have_flags_of_its_own(corpus, flags):
    def deviations(name):
        learner = Learner(
            name, ARCH, str(corpus), flags, every=1, device="cpu", clock=time.process_time
        )
        return {key: value.std() for key, value in learner.trainer.model.state_dict().items()}

    plain, scaled = deviations(ARCH), deviations(f"{ARCH} --depth-scaled-init 1")
    name = "encoder.stack.layers.1.fc2.weight"
    assert scaled[name] < 0.8 * plain[name]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["transformer_standard", "--bleu", "30"], ["fairseq-train", "--max-update"]),
        (["transformer_standard", "--bleu", "0", "--lr", "1"], ["--bleu", "0.0"]),
        (["transformer_dc --encoder-lairs 3", "--bleu", "3", "--lr", "1"], ["lairs"]),
        (
            ["transformer_dc", "--against", "stok", "--bleu", "3", "--lr", "1"],
            ["--against", "stok", "stock"],
        ),
        (
            ["transformer_dc 'x", "--bleu", "3", "--lr", "1"],
            ["transformer_dc 'x", "quotation"],
        ),
        (["transformer_standart", "--bleu", "3", "--lr", "1"], ["transformer_standart"]),
        (["transformer_dc", "--bleu", "3", "--arch", "transformer"], ["--arch", "its own"]),
        (["lstm_lm_selfattn_residual", "--bleu", "3", "--lr", "1"], ["language model"]),
        (
            ["transformer_dc", "--bleu", "3", "--every", "0", "--lr", "1"],
            ["--every", "0"],
        ),
    ],
)
def test_bad_flags_are_named(arguments, words, capsys):
    assert main(["time-to-bleu", *arguments[:1], "--data", "nowhere", *arguments[1:]]) == 2
    message = capsys.readouterr().err
    assert all(word in message for word in words)
