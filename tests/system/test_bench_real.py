"""``dc-nmt bench`` of whole programs: fairseq's with and without the plugin, and CTranslate2."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest
from records import write_run

from dc_nmt_plugin.bench import CTRANSLATE2, STOCK, programs
from dc_nmt_plugin.bench.comparison import CONTROL
from dc_nmt_plugin.bench.real import ENGINE_INT8
from dc_nmt_plugin.commands import bench
from dc_nmt_plugin.errors import UserError

ARCH = "transformer_standard_micro"
SMALL = ["--rounds", "1", "--max-tokens", "100", "--vocabulary", "100", "--length", "8"]


@pytest.fixture
def ran(monkeypatch):
    """The programs that were run."""
    found = []

    def run(program, threads):
        found.append((program, programs.run(program, threads)))
        return found[-1][1]

    monkeypatch.setattr("dc_nmt_plugin.bench.real.run", run)
    return found


def measured(words, capsys):
    assert bench.main([*words, *SMALL, "--json"]) == 0
    return {row["name"]: row for row in json.loads(capsys.readouterr().out)["results"]}


def test_training_is_measured_by_fairseqs_own_programs(ran, capsys):
    rows = measured([ARCH, "--real", "--mode", "train", "--updates", "4"], capsys)
    assert list(rows) == [STOCK, CONTROL, ARCH]
    assert all(row["speed"] > 0 and row["cpu_s"] > 0 for row in rows.values())
    assert rows[STOCK]["ratio"] == 1
    for program, done in ran:
        own = ARCH in program.words
        assert program.plain != own and ("--user-dir" in program.words) == own
        assert ("joint_label_smoothed" in done.output) == own
        assert done.output.count("| train_inner |") == 4
    stock, _, ours = (done for _, done in ran)
    batches = [[row["bsz"] for row in logged(done)] for done in (stock, ours)]
    assert batches[0] == batches[1]


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("rounds", [0, 2])
def test_the_finished_rounds_of_a_stopped_measurement_are_printed(
    sent, status, rounds, monkeypatch, capsys
):
    calls = []

    def run(program, threads):
        calls.append(program)
        if len(calls) == 3 * rounds + 2:  # after the first of three programs
            os.kill(os.getpid(), sent)
        return programs.Finished('| train_inner | {"wps": 5}', wall=1, cpu=1)

    monkeypatch.setattr("dc_nmt_plugin.bench.real.run", run)
    words = [ARCH, "--real", *SMALL[2:], "--rounds", "9", "--dropout", "0.2"]
    # a job in the background of a shell ignores Ctrl-C
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert bench.main(words) == status
    finally:
        signal.signal(signal.SIGINT, before)
    output, errors = capsys.readouterr()
    assert ("Flags of every ARCH: --dropout 0.2" in output) == (rounds > 0)
    assert output.count(f"{ARCH} ") == output.count("5.0  1.000") / 3 == (rounds > 0)
    assert ("; 2 runs of each program" in output) == (rounds > 0)
    told = "stopped; finished rounds: 2 of 9 of train and 0 of 9 of decode."
    assert (told if rounds else "stopped; no round is finished.") in errors


def test_8_bit_layers_are_one_more_row_of_decoding(monkeypatch, capsys):
    def run(program, threads):
        rate = 8 if "--int8" in program.words else 4
        return programs.Finished(f"Translated 5 sentences in 1s ({rate}.0 sentences/s)", 1, 1)

    monkeypatch.setattr("dc_nmt_plugin.bench.real.run", run)
    rows = measured([ARCH, "--real", "--int8", "--against", "transformer_dc_micro"], capsys)
    speeds = {name: (row["mode"], row["ratio"]) for name, row in rows.items()}
    once = dict.fromkeys(("transformer_dc_micro", CONTROL, ARCH), ("decode", 1))
    assert speeds == {**once, f"{ARCH} int8": ("decode", 2)}


def logged(done):
    return [json.loads(text) for text in programs._INTERVAL.findall(done.output)]


def test_ctranslate2_translates_the_same_with_the_same_weights(ran, capsys):
    rows = measured([ARCH, "--against", CTRANSLATE2, "--beam", "1"], capsys)
    assert list(rows) == [CTRANSLATE2, CONTROL, ENGINE_INT8, ARCH]
    assert rows[ARCH]["sentences"] == 2 * (100 // 8)
    assert rows[CONTROL]["different"] == rows[ARCH]["different"] == 0
    assert rows[CTRANSLATE2]["wall_s"] > 0
    training, *translations = [program for program, _ in ran]
    assert "fairseq_cli.train" in training.words and len(translations) == 4
    assert len(set(translations[0].words) ^ set(translations[2].words)) == 2  # the model alone


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--mode", "train", "--against", CTRANSLATE2], "--mode train: --against ctranslate2 has"),
        (["--mode", "validate", "--real"], "--mode validate: --real has train and decode alone"),
        (["--count", "--against", CTRANSLATE2], "--count: looks inside models of PyTorch"),
        (["--precision", "bfloat16", "--real"], "--precision bfloat16: --real measures float32"),
        (["--against", "pytorch", "--real"], "--against pytorch: no program trains it"),
        (["--updates", "3"], "--updates: belongs to --real"),
        (["--updates", "1", "--real"], "--updates: '1' is not a whole number from 2"),
    ],
)
def test_what_programs_cannot_measure_is_one_sentence(words, said):
    with pytest.raises(UserError) as error:
        bench.main([ARCH, *words])
    assert str(error.value).startswith(said)


def test_a_trained_model_takes_no_further_flags(tmp_path):
    write_run(tmp_path / "run", ARCH)
    with pytest.raises(UserError, match=r"run --dropout 0.1: --real translates with the run's ch"):
        bench.main([str(tmp_path / "run"), "--real", "--dropout", "0.1"])


def test_a_run_without_a_checkpoint_is_refused(tmp_path):
    write_run(tmp_path / "run", ARCH)
    with pytest.raises(UserError, match=r"run: has no checkpoint \(average/"):
        bench.main([str(tmp_path / "run"), "--real", "--mode", "decode"])


def test_a_missing_engine_is_named_with_its_installation(monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(UserError, match=r"--against ctranslate2: it cannot be imported .* pip"):
        bench.main([ARCH, "--against", CTRANSLATE2])


def test_a_model_that_the_engine_lacks_is_refused(capsys):
    with pytest.raises(UserError, match=r"^transformer_dc_micro: --against ctranslate2 needs a st"):
        bench.main(["transformer_dc_micro", "--against", CTRANSLATE2, *SMALL])


def test_a_program_that_fails_is_shown_with_its_last_lines():
    with pytest.raises(UserError, match=r"missing(.|\n)*ended with status 2:(.|\n)*missing"):
        programs.run(programs.Program((sys.executable, "missing.py")), 1)
