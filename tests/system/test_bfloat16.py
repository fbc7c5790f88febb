"""``--amp`` and ``--bf16`` on a CPU, by fairseq's programs; slow on some processors, but right."""

import subprocess

import pytest
import torch
from commands import ROOT, assert_explained, run
from interruption import assert_same_training, kill_before_update
from systems import family, generation, load, train, training

from dc_nmt_plugin import machine

ARCH = "transformer_ms_aux_aif"
SAYS = "linear layers multiply in bfloat16"
USER_DIR = ["--user-dir", ROOT / "dc_nmt_plugin"]


@pytest.fixture(autouse=True)
def bfloat16(monkeypatch):
    monkeypatch.setenv("DC_NMT_BFLOAT16", "1")


def test_killed_and_continued_is_unbroken(corpus, tmp_path):
    flags = ["--amp", "--max-epoch", 3, "--update-freq", 2, "--checkpoint-activations"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    done = train(corpus, whole, ARCH, *flags).good()
    assert done.output.count(SAYS) == 1
    assert "UserWarning" not in done.errors and not done.logged("train_loss_scale")
    words = training(corpus, broken, *family(ARCH), *flags, "--save-interval-updates", 2)
    run(broken, "train", *words, before=lambda: kill_before_update(4))
    train(corpus, broken, ARCH, *flags).good()
    state = load(whole)
    assert_same_training(load(broken), state)
    assert {value.dtype for value in state["model"].values()} == {torch.float32}
    moments = state["last_optimizer_state"]["state"][0]
    assert moments["exp_avg"].dtype == moments["exp_avg_sq"].dtype == torch.float32


def test_a_training_goes_on_in_another_precision(corpus, tmp_path):
    losses = {}
    for flag in ([], ["--amp"], ["--bf16"]):
        save = tmp_path / str(flag)
        done = train(corpus, save, ARCH, "--max-epoch", 1, *flag).good()
        losses[str(flag)] = done.logged("valid_loss")
        change = [] if flag else ["--bf16"]
        more = train(corpus, save, ARCH, "--max-epoch", 2, *change).good()
        assert (SAYS in more.output) == bool(change)
        assert more.logged("num_updates")[0] > done.logged("num_updates")[-1]
    float32, amp, bf16 = losses.values()
    assert amp == bf16 != float32
    assert amp == pytest.approx(float32, rel=0.01)


def test_it_translates_and_validates(corpus, tmp_path):
    save = tmp_path / "save"
    flags = ["--max-epoch", 4, "--validate-interval", 2, "--save-interval", 2, "--eval-bleu"]
    train(corpus, save, ARCH, *flags, "--amp").good()
    both = f"{save}/checkpoint_best.pt:{save}/checkpoint_last.pt"
    words = generation(corpus, both, ARCH, "--gen-subset", "test1", "--beam", 3)
    exact = run(tmp_path, "generate", *words).good()
    close = run(tmp_path, "generate", *words, "--bf16").good()
    scores = [[score for score, _ in found.hypotheses().values()] for found in (exact, close)]
    assert scores[0] != scores[1]
    assert scores[0] == pytest.approx(scores[1], abs=0.05)
    words = [corpus, "--path", save / "checkpoint_last.pt", "--cpu", "--log-format", "json"]
    words += ["--task", "transformer_ms_aux", "--max-tokens", 80]
    exact, close = (run(tmp_path, "validate", *words, *more).good() for more in ([], ["--bf16"]))
    numbers = ("valid_loss", "valid_aux1_loss", "valid_ppl", "valid_bleu")  # each is rounded
    assert any(exact.logged(name) != close.logged(name) for name in numbers)
    assert exact.logged("valid_loss") == pytest.approx(close.logged("valid_loss"), rel=0.01)


@pytest.mark.parametrize(
    ("flag", "variable", "reason"),
    [
        ("--amp", None, "no instructions for bfloat16"),
        ("--bf16", "", "no instructions for bfloat16"),
        ("--amp", "0", "or DC_NMT_BFLOAT16 is 0"),
    ],
)
def test_it_is_refused_where_it_would_be_slow(
    flag, variable, reason, corpus, tmp_path, monkeypatch
):
    monkeypatch.setattr(machine, "_ROOT", tmp_path)  # where no file names a processor
    monkeypatch.delenv("DC_NMT_BFLOAT16")
    if variable is not None:
        monkeypatch.setenv("DC_NMT_BFLOAT16", variable)
    assert_explained(train(corpus, tmp_path, ARCH, flag), reason)
    words = generation(corpus, "none.pt", ARCH, flag)
    assert_explained(run(tmp_path, "generate", *words), reason)


def test_half_precision_needs_a_gpu(corpus, tmp_path):
    assert_explained(train(corpus, tmp_path, ARCH, "--fp16"), "--fp16: ", "leave the flag out")


@pytest.mark.parametrize("variable", ["", "0", "1"])
def test_every_program_asks_the_same_machine(variable, bare, corpus, tmp_path, monkeypatch):
    """Nothing is pretended: without the variable, the processor of this machine decides."""
    monkeypatch.setenv("DC_NMT_BFLOAT16", variable)
    kernel = ["grep", "-qswE", "avx512_bf16|amx_bf16", "/proc/cpuinfo"]
    expected = variable == "1" if variable else subprocess.call(kernel) == 0

    words = [*training(corpus, tmp_path, *family(ARCH), "--amp", "--max-update", 1), *USER_DIR]
    code = "from fairseq_cli.train import cli_main; cli_main()"
    for done in (
        train(corpus, tmp_path, ARCH, "--amp", "--max-update", 1),
        bare.run(code, *words, folder=tmp_path, environment={"DC_NMT_BFLOAT16": variable}),
    ):
        if expected:
            assert SAYS in done.good().output + done.errors
        else:
            assert_explained(done, "--amp")
