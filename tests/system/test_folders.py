"""The folder of a run is that of one training, and its record says what this training did."""

from __future__ import annotations

import json
import shutil

from commands import assert_explained, run
from systems import family, train, training

from dc_nmt_plugin.compat import run_record
from dc_nmt_plugin.compat.beginning import lock_folder
from dc_nmt_plugin.runs.differences import all_settings
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


def test_the_data_folder_is_no_value_of_a_flag(corpus, tmp_path, monkeypatch):
    """Neither as the first word, where it has the name of a value, nor as the last one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "1").symlink_to(corpus)
    first = training("1", "save", *family(ARCH), "--seed", 1, "--max-update", 1, "--cpu")
    last = [*training(corpus, "save", *family(ARCH), "--max-update", 1, "--seed", 1)[1:], "--cpu"]
    for words in (first, [*last, corpus]):
        shutil.rmtree("save", ignore_errors=True)
        run(tmp_path, "train", *words).good()
        settings = read_record(tmp_path / "save").settings
        assert (settings["seed"], settings["max-update"], settings["cpu"]) == (1, 1, True)


def test_the_record_has_a_segment_for_each_change(corpus, tmp_path):
    """Flags that say how long or where a run trains are no change."""
    recorded = []
    for number, dropout in enumerate([0.1, 0.3, 0.3, 0.2], start=1):
        flags = ["--dropout", dropout, "--max-update", 2 * number, "--log-interval", number]
        train(corpus, tmp_path, ARCH, *flags).good()
        record = read_record(tmp_path)
        recorded.append((all_settings(record)["dropout"], record.settings["dropout"]))
        assert record.settings["max-update"] == all_settings(record)["max-update"] == 2 * number
    changed = "0.1 until update 2, then 0.3"
    assert recorded == [
        (0.1, 0.1),
        (changed, 0.3),
        (changed, 0.3),
        (f"{changed} until update 6, then 0.2", 0.2),
    ]
    assert [(segment.until_update, segment.settings["dropout"]) for segment in record.segments] == [
        (2, 0.1),
        (6, 0.3),
    ]


def test_a_part_in_another_precision_leaves_its_trace(corpus, tmp_path, monkeypatch):
    """On another device too."""
    monkeypatch.setenv("DC_NMT_BFLOAT16", "1")
    monkeypatch.setattr(run_record, "used_device", lambda flags: f"d{'bf16' in flags:d}")
    recorded = []
    # the third part has no update left to make, and trains nothing
    for updates, flags in [(2, []), (4, ["--bf16"]), (4, []), (6, ["--bf16"]), (8, [])]:
        train(corpus, tmp_path, ARCH, "--max-update", updates, *flags).good()
        recorded.append(all_settings(read_record(tmp_path)).get("bf16"))
    began = "not given until update 2, then given"
    assert recorded[:2] == [None, began]
    assert recorded[3:] == [began, f"{began} until update 6, then not given"]
    record = read_record(tmp_path)
    starts = [(start.from_update, start.device) for start in record.starts]
    assert starts == [(0, "d0"), (2, "d1"), (4, "d1"), (6, "d0")]
    assert record.training.device == "d0, then d1"


def test_a_record_with_words_of_an_earlier_version_goes_on(corpus, tmp_path):
    words = {"dropout": "0.1 until update 1, then 0.3", "bf16": "updates 1 to 2"}
    train(corpus, tmp_path, ARCH, "--max-update", 2).good()
    content = json.loads((tmp_path / "run.json").read_text())
    del content["segments"], content["starts"]  # which it does not have
    content["training"] |= {"device": "another", "versions": {"torch": "2.9"}}
    content["settings"] |= words
    (tmp_path / "run.json").write_text(json.dumps(content))
    assert all_settings(read_record(tmp_path)).items() >= words.items()
    train(corpus, tmp_path, ARCH, "--max-update", 4, "--dropout", 0.3).good()
    record = read_record(tmp_path)
    assert record.settings["dropout"] == 0.3
    assert all_settings(record)["bf16"] == "updates 1 to 2 until update 2, then not given"
    before, now = record.starts
    assert (before.date, before.device, before.versions) == (None, "another", {"torch": "2.9"})
    assert (now.from_update, record.training.device) == (2, f"another, then {now.device}")
