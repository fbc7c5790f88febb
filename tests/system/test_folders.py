"""The folder of a run is that of one training, and its record says what this training did."""

from __future__ import annotations

import shutil

from commands import assert_explained, run
from systems import family, train, training

from dc_nmt_plugin.compat.beginning import lock_folder
from dc_nmt_plugin.runs.record import read_record

ARCH = "transformer_dc"


def test_two_trainings_at_the_same_time_are_two_folders(corpus, tmp_path):
    (tmp_path / "run").mkdir()
    lock_folder(str(tmp_path / "run"))
    refused = train(corpus, tmp_path / "run/checkpoints", ARCH, "--max-update", 1)
    assert_explained(refused, "another training is running in", tmp_path / "run")


def test_a_run_without_checkpoints_has_no_record(corpus, tmp_path):
    train(corpus, tmp_path, ARCH, "--max-update", 2, "--no-save").good()
    assert not (tmp_path / "run.json").exists() and not (tmp_path / "curve.log").exists()


def test_a_value_may_be_the_name_of_the_data_folder(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "1").symlink_to(corpus)
    flags = training("1", "save", *family(ARCH), "--seed", 1, "--update-freq", 1, "--lr", 1)
    flags += ["--clip-norm", 1, "--max-update", 1]
    for words in (flags, [*flags[1:], "1"], ["--seed", 1, *flags]):
        shutil.rmtree("save", ignore_errors=True)
        run(tmp_path, "train", *words).good()
        settings = read_record(tmp_path / "save").settings
        assert (settings["seed"], settings["clip-norm"], settings["max-update"]) == (1, 1, 1)
        assert settings["cpu"] is True and settings["lr"] == 1


def test_the_record_has_every_precision(corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("DC_NMT_BFLOAT16", "1")
    flags = [[], ["--bf16"], ["--bf16"], [], ["--bf16"]]
    recorded = []
    for number, flag in enumerate(flags, start=1):
        train(corpus, tmp_path, ARCH, "--max-update", 2 * number, *flag).good()
        recorded.append(read_record(tmp_path).settings.get("bf16"))
    assert recorded == [
        None,
        "from update 3",
        "from update 3",
        "updates 3 to 6",
        "updates 3 to 6, from update 9",
    ]


def test_the_record_has_every_value_of_a_setting(corpus, tmp_path):
    values = []
    for number, dropout in enumerate([0.1, 0.3, 0.3, 0.2], start=1):
        flags = ["--dropout", dropout, "--max-update", 2 * number, "--log-interval", number]
        train(corpus, tmp_path, ARCH, *flags).good()
        settings = read_record(tmp_path).settings
        values.append(settings["dropout"])
        assert (settings["max-update"], settings["log-interval"]) == (2 * number, number)
    changed = "0.1 until update 2, then 0.3"
    assert values == [0.1, changed, changed, f"{changed} until update 6, then 0.2"]


def test_a_run_of_one_precision_has_a_switch(corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("DC_NMT_BFLOAT16", "1")
    for updates in (2, 4):
        train(corpus, tmp_path, ARCH, "--max-update", updates, "--amp").good()
        assert read_record(tmp_path).settings["amp"] is True
    train(corpus, tmp_path, ARCH, "--max-update", 6).good()
    assert read_record(tmp_path).settings["amp"] == "updates 1 to 4"
