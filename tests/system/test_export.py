"""Exported checkpoints translate alike where this plugin is not installed."""

from __future__ import annotations

import shutil

import ctranslate2
import pytest
import torch
from commands import run
from systems import SOURCE, TARGET, generation, load, training

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.commands.export import main as export

BLOCKER = "import sys; sys.modules['dc_nmt_plugin'] = None; "  # it cannot be imported


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory):
    """A model with an auxiliary decoder, and what the plugin translates with it."""
    save = tmp_path_factory.mktemp("trained")
    arch = "transformer_ms_aux"
    flags = ["--arch", arch, "--task", arch, "--criterion", arch, "--max-update", 2]
    run(save, "train", *training(corpus, save, *flags, "--encoder-layers", 3)).good()
    state, path = load(save), save / "checkpoint_last.pt"
    torch.manual_seed(1)
    for name, tensor in state["model"].items():  # every sentence is to be translated differently
        if tensor.dim() > 1 and "embed" not in name:
            tensor.normal_(std=0.6)
    torch.save(state, path)
    words = generation(corpus, path, "transformer_ms_aux_aif", "--task", arch, "--beam", 3)
    return path, run(save, "generate", *words).good().hypotheses()


def test_stock_export_in_plain_fairseq(trained, corpus, bare, tmp_path):
    path, expected = trained
    export([str(path), "--out", str(tmp_path / "stock.pt"), "--stock"])
    words = generation(corpus, tmp_path / "stock.pt", "transformer_standard", "--beam", 3)
    at = words.index("--task")
    words[at : at + 2] = ["--task", "translation", "--required-batch-size-multiple", 1]
    code = f"{BLOCKER}from fairseq_cli.generate import cli_main; cli_main()"
    hypotheses = bare.run(code, *words, folder=tmp_path).good().hypotheses()
    texts = {number: text for number, (_, text) in hypotheses.items()}
    assert texts == {number: text for number, (_, text) in expected.items()}
    assert len(set(texts.values())) > 10  # not one sentence for everything


def test_ctranslate2_translates_alike(trained, corpus, tmp_path):
    """Greedily: beam searches differ in when they stop."""
    path, _ = trained
    greedy = generation(corpus, path, "transformer_ms_aux_aif", "--beam", 1)
    greedy += ["--task", "transformer_ms_aux"]
    expected = run(tmp_path, "generate", *greedy).good().hypotheses()
    words = ["--ctranslate2", "--data", str(corpus), "--out", str(tmp_path / "ct2")]
    export([str(path), *words])
    translator = ctranslate2.Translator(str(tmp_path / "ct2"), device="cpu", inter_threads=1)
    lines = (corpus.parent / "text" / f"test.{SOURCE}").read_text("utf-8").splitlines()
    sources = [line.split() for line in lines]
    for number, translated in enumerate(
        translator.translate_batch(sources, beam_size=1, max_decoding_length=12)
    ):
        _, text = expected[number]
        pieces = [
            piece for piece in translated.hypotheses[0] if piece != "<s>"
        ]  # fairseq prints none
        assert " ".join(pieces) == text
    export([str(path), *words[:-1], str(tmp_path / "int8"), "--quantization", "int8"])
    small = sum(file.stat().st_size for file in (tmp_path / "int8").iterdir())
    assert small < path.stat().st_size


def test_ctranslate2_refuses_another_dictionary(trained, corpus, tmp_path):
    path, _ = trained
    data = tmp_path / "data"
    shutil.copytree(corpus, data)
    words = (data / f"dict.{TARGET}.txt").read_text("utf-8").splitlines(keepends=True)
    (data / f"dict.{TARGET}.txt").write_text("".join(words[::-1]), "utf-8")
    out = tmp_path / "ct2"
    with pytest.raises(UserError, match=f"{data}: its target dictionary has .*{path}"):
        export([str(path), "--ctranslate2", "--data", str(data), "--out", str(out)])
    assert not out.exists()


def test_what_other_programs_cannot_compute_is_refused(trained, corpus, tmp_path):
    path, _ = trained
    state = torch.load(path, weights_only=True)
    state["cfg"]["model"].encoder_self_attention = "dual_context"
    torch.save(state, tmp_path / "dc.pt")
    flags = ["--data", str(corpus), "--out", str(tmp_path / "ct2")]
    with pytest.raises(UserError, match="--ctranslate2 needs a standard Transformer"):
        export([str(tmp_path / "dc.pt"), "--ctranslate2", *flags])
    (tmp_path / "ct2").mkdir()
    (tmp_path / "ct2" / "thesis.tex").write_text(TARGET)
    with pytest.raises(UserError, match="exists already"):
        export([str(path), "--ctranslate2", *flags])
    assert [file.name for file in (tmp_path / "ct2").iterdir()] == ["thesis.tex"]
