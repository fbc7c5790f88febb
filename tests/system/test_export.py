"""Exported checkpoints translate alike where this plugin is not installed."""

from __future__ import annotations

import shutil

import ctranslate2
import pytest
import torch
from commands import run
from systems import SOURCE, TARGET, generation, load, training

from dc_nmt_plugin.commands.export import main as export
from dc_nmt_plugin.errors import UserError

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
    found = bare.run(code, *words, folder=tmp_path).good().hypotheses()
    texts = {number: text for number, (_, text) in found.items()}
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
    for number, found in enumerate(
        translator.translate_batch(sources, beam_size=1, max_decoding_length=12)
    ):
        _, text = expected[number]
        pieces = [piece for piece in found.hypotheses[0] if piece != "<s>"]  # fairseq prints none
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
    state["cfg"]["model"].encoder_layers = "standard*4"
    torch.save(state, tmp_path / "text.pt")
    with pytest.raises(UserError, match=r"text\.pt: its encoder_layers is 'standard\*4'"):
        export([str(tmp_path / "text.pt"), "--out", str(tmp_path / "out.pt")])
    flags = ["--data", str(corpus), "--out", str(tmp_path / "ct2")]
    for kind in ("--ctranslate2", "--hf"):
        with pytest.raises(UserError, match=f"{kind} needs a standard Transformer"):
            export([str(tmp_path / "dc.pt"), kind, *flags])
    (tmp_path / "ct2").mkdir()
    (tmp_path / "ct2" / "thesis.tex").write_text(TARGET)
    with pytest.raises(UserError, match="exists already"):
        export([str(path), "--ctranslate2", *flags])
    assert [file.name for file in (tmp_path / "ct2").iterdir()] == ["thesis.tex"]


def with_codes(corpus, folder):
    """The data, with BPE codes beside them that join every word of the dictionary."""
    shutil.copytree(corpus, folder / "bin")
    (folder / "bpe").mkdir()
    lines = (corpus / f"dict.{SOURCE}.txt").read_text("utf-8").splitlines()
    merges = ["#version: 0.2"]
    for word in (line.split()[0] for line in lines):
        letters = [*word[:-1], f"{word[-1]}</w>"]
        merges += [f"{''.join(letters[:n])} {letters[n]}" for n in range(1, len(letters))]
    (folder / "bpe/codes").write_text("\n".join(dict.fromkeys(merges)) + "\n", "utf-8")
    return folder / "bin"


def test_transformers_translates_alike(trained, corpus, tmp_path):
    """Greedily, and with the tokeniser that is beside the model."""
    transformers = pytest.importorskip("transformers")
    path, _ = trained
    greedy = generation(corpus, path, "transformer_ms_aux_aif", "--beam", 1)
    expected = run(tmp_path, "generate", *greedy, "--task", "transformer_ms_aux").good()
    out, data = tmp_path / "hf", with_codes(corpus, tmp_path)
    export([str(path), "--hf", "--data", str(data), "--out", str(out)])
    model = transformers.FSMTForConditionalGeneration.from_pretrained(out).eval()
    tokenizer = transformers.FSMTTokenizer.from_pretrained(out)
    lines = (corpus.parent / "text" / f"test.{SOURCE}").read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        pieces = tokenizer.tokenize(line, bypass_tokenizer=True)
        row = torch.tensor([[*tokenizer.convert_tokens_to_ids(pieces), tokenizer.sep_token_id]])
        length = int(0.0 * len(row[0]) + 12) + 1  # that of `generation`
        found = model.generate(row, num_beams=1, max_new_tokens=length, do_sample=False)[0]
        words = [tokenizer.decoder[n].removesuffix("</w>") for n in found.tolist() if n > 2]
        assert " ".join(words) == expected.hypotheses()[number][1]
