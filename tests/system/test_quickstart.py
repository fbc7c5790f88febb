"""``dc-nmt quickstart`` with stand-ins: done once, resumed, refused."""

from __future__ import annotations

import os

import pytest
from stand_ins import stand_ins  # noqa: F401

from dc_nmt_plugin.evaluation import side_by_side

MODEL = ["fairseq-train", "dc-nmt average", "fairseq-generate", "dc-nmt score"]
PLAIN, DUAL = "transformer_standard", "transformer_dc"


@pytest.fixture
def quickstart(stand_ins, monkeypatch):  # noqa: F811
    """A function: flags → Result; its table is the names of the results."""
    monkeypatch.setattr(
        side_by_side,
        "format_side_by_side",
        lambda files, examples: " ".join(map(str, ["TABLE", *files])),
    )  # fmt: skip
    stand_ins.quickstart = lambda *flags: stand_ins.run("quickstart", *flags)
    return stand_ins


def test_all_is_done_once_and_the_second_call_repeats_nothing(quickstart):
    first = quickstart.quickstart().good()
    assert "What the scores mean" in first.output
    assert first.started()[:3] == ["dc-nmt corpus", "dc-nmt check-text", "dc-nmt split-text"]
    for arch in (PLAIN, DUAL):
        assert first.started(arch) == MODEL
    results = [f"quickstart_out/en-de/{arch}" for arch in (PLAIN, DUAL)]
    assert f"TABLE {' '.join(results)}" in first.output
    assert any(f"--task {DUAL}" in call for call in first.calls)
    second = quickstart.quickstart().good()
    assert second.calls == [] and second.output.count("done before") == 4 + 2 * 4
    assert "TABLE" in second.output


def test_a_killed_training_continues_and_the_data_are_not_made_again(quickstart):
    quickstart.make("kill")
    (quickstart.folder / "quickstart_out/en-de").mkdir(parents=True)
    binarised = quickstart.folder / "quickstart_out/en-de/bin"
    quickstart.quickstart("--dry-run").good()
    assert not binarised.exists()
    (quickstart.state / "kill").unlink()
    quickstart.quickstart(DUAL).good()
    quickstart.make("kill")
    killed = quickstart.quickstart()
    assert killed.code == 1 and f"training of {PLAIN} stopped" in killed.errors
    assert "the last words" in killed.errors and killed.started() == ["fairseq-train"]
    again = quickstart.quickstart().good()
    assert f"{PLAIN}: train 700 updates, from the last checkpoint on" in again.output
    assert again.started() == MODEL
    log = quickstart.folder / f"quickstart_out/en-de/{PLAIN}/train.log"
    assert log.read_text() == "the last words\n" * 2


def test_every_architecture_gets_its_own_flags_and_a_language_model_is_refused(quickstart):
    once = quickstart.quickstart("gru_selfattn_residual", PLAIN, PLAIN, "--dry-run")
    commands = [line for line in once.good().output.splitlines() if "fairseq-train" in line]
    assert len(commands) == 2
    assert "--hidden-dim 256" in commands[0] and "--encoder-layers" not in commands[0]
    assert "--encoder-layers 2" in commands[1]
    spoken = quickstart.quickstart("lstm_lm_selfattn_residual")
    assert spoken.code == 1 and "is a language model" in spoken.errors


def test_one_that_fails_stops_the_other_and_both_continue(quickstart):
    quickstart.quickstart("transformer_ctxaware").good()  # for the text
    quickstart.make("slow")
    quickstart.make("kill")
    killed = quickstart.quickstart()
    assert killed.code == 1 and killed.errors.count("stopped; its log is") == 1
    (quickstart.state / "slow").unlink()
    again = quickstart.quickstart().good()
    assert "from the last checkpoint on" in again.output
    assert again.started(PLAIN) == again.started(DUAL) == MODEL


def test_a_killed_data_step_is_made_anew(quickstart):
    """The whole process is killed, as by the system."""
    quickstart.make("kill")
    child = os.fork()
    if child == 0:
        quickstart.quickstart()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
    data = quickstart.folder / "quickstart_out/en-de"
    assert (data / "bpe/.stamp").exists() and not (data / "bin").exists()
    again = quickstart.quickstart().good()
    assert "subword-nmt" not in again.started() and again.started()[0] == "fairseq-preprocess"
    assert (data / "bin/dict.en.txt").exists() and not (data / "bin.part").exists()


def test_a_stopped_training_ends_what_it_started(quickstart):
    quickstart.make("stop")
    stopped = quickstart.quickstart()
    assert stopped.code == 130 and "the same command continues" in stopped.errors
    # the other training may have come to its end, and is evaluated meanwhile
    assert "fairseq-train" in quickstart.quickstart().good().started()


def test_other_settings_do_not_overwrite_a_training(quickstart):
    quickstart.quickstart(PLAIN).good()
    for other in (["--max-update", 9], ["--dropout", "0.2"], ["--seed", 2]):
        refused = quickstart.quickstart(PLAIN, *other)
        assert f"quickstart_out/en-de/{PLAIN} has a run with other" in refused.refused()
        assert "fairseq-train" not in refused.started()
    other = quickstart.quickstart("--max-update", 9, "--out", "other").good()
    assert "--max-update 9 " in other.call("fairseq-train")


def test_a_flag_that_fairseq_refused_leaves_no_training_to_contradict(quickstart):
    refused = quickstart.quickstart(PLAIN, "--droput", "0.2")
    assert refused.code == 2 and "Did you mean '--dropout'" in refused.errors
    assert refused.calls == []
    again = quickstart.quickstart(PLAIN, "--dropout", "0.2").good()
    assert "--dropout 0.2 " in again.call("fairseq-train")


def test_other_flags_reach_fairseq_last(quickstart):
    train = quickstart.quickstart("--cpu", "--dropout", "0.2").good().call("fairseq-train")
    before, after = train.split("--dropout 0.1")
    assert "--cpu --dropout 0.2 --save-dir" in after and "--cpu" not in before
    # whatever GPUs there are, the tokens of an update are those of the recipe
    assert "--distributed-world-size 1 --cpu" in after


def test_unusable_text_stops_before_anything_is_learnt(quickstart):
    quickstart.make("bad-text")
    stopped = quickstart.quickstart()
    assert stopped.code == 1 and "line 3: bad" in stopped.errors
    assert "subword-nmt" not in stopped.started()


def test_a_failed_command_shows_its_last_words(quickstart):
    quickstart.make("full")
    failed = quickstart.quickstart()
    lines = failed.errors.splitlines()
    assert lines[:-1] == [f"line {number}" for number in range(6, 21)]
    assert "'subword-nmt'" in lines[-1] and "quickstart_out/en-de/bpe.part.log" in lines[-1]


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ([PLAIN, "transformer_cd"], "'transformer_cd'"),
        (["--pair", "en-xx"], "--pair: 'en-xx'"),
        (["--pair", "de-de"], "--pair: 'de-de'"),
        (["--max-update", "0"], "--max-update: '0'"),
        (["--max-update"], "--max-update"),
        (["--speed", "9"], "--speed"),
    ],
)
def test_bad_flags_are_one_sentence(quickstart, flags, named):
    assert named in quickstart.quickstart(*flags).refused(2)
    assert not (quickstart.folder / "quickstart_out").exists()
