"""Other dictionaries of the same size: the same numbers are other words, and nothing else tells."""

from __future__ import annotations

import os
import shutil

import pytest
import torch
from commands import assert_explained, run
from fairseq.models.transformer import TransformerModel
from systems import SOURCE, TARGET, generation, load, training

from dc_nmt_plugin import cli
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.commands import average

STOCK = ["--arch", "transformer", "--task", "translation"]
STOCK += ["--criterion", "label_smoothed_cross_entropy"]
LANGUAGES = ["--source-lang", SOURCE, "--target-lang", TARGET]
VALIDATE = ["--task", "translation", "--max-tokens", 80, "--cpu", *LANGUAGES]


def reversed_lines(path):
    path.write_text("".join(reversed(path.read_text("utf-8").splitlines(keepends=True))), "utf-8")


@pytest.fixture(scope="module")
def other(corpus, tmp_path_factory):
    """The same data; the words of its target dictionary are in another order."""
    folder = tmp_path_factory.mktemp("other") / "data"
    shutil.copytree(corpus, folder)
    reversed_lines(folder / f"dict.{TARGET}.txt")
    return folder


@pytest.fixture(scope="module")
def save(corpus, tmp_path_factory):
    """A save folder of fairseq's own model and task."""
    folder = tmp_path_factory.mktemp("save")
    run(folder, "train", *training(corpus, folder, *STOCK, "--max-epoch", 1)).good()
    return folder


def generate(folder, data, checkpoint, *flags):
    words = generation(data, checkpoint, "transformer_standard", "--task", "translation", *flags)
    words += ["--gen-subset", "test1", "--beam", 1]
    return run(folder, "generate", *words)


def test_decoding(corpus, other, save, tmp_path):
    last = save / "checkpoint_last.pt"
    generate(tmp_path, corpus, last).good()
    generate(tmp_path, corpus, f"{last}{os.pathsep}{save / 'checkpoint_best.pt'}").good()
    words = [other, "target dictionary", last]
    assert_explained(generate(tmp_path, other, last), *words)
    assert_explained(run(tmp_path, "validate", other, "--path", last, *VALIDATE), *words)


def test_the_other_direction_of_a_stock_checkpoint(corpus, save, tmp_path):
    """Trained without -s and -t, which fairseq then leaves out of its checkpoint."""
    state = load(save)
    for name in ("dictionaries", "languages"):
        del state["extra_state"][name]
    torch.save(state, tmp_path / "stock.pt")
    reverse = ["--source-lang", TARGET, "--target-lang", SOURCE]
    refused = generate(tmp_path, corpus, tmp_path / "stock.pt", *reverse)
    assert_explained(refused, f"from {SOURCE} to {TARGET}", "the other direction")


def test_an_ensemble_of_two_dictionaries(corpus, other, save, tmp_path):
    words = training(other, tmp_path, *STOCK, "--max-epoch", 1)
    run(tmp_path, "train", *words).good()
    last, other_last = save / "checkpoint_last.pt", tmp_path / "checkpoint_last.pt"
    assert_explained(
        generate(tmp_path, corpus, f"{last}{os.pathsep}{other_last}"), corpus, other_last
    )
    words = [str(last), str(other_last), "--out", str(tmp_path / "mean.pt")]
    with pytest.raises(UserError, match="different dictionaries"):
        average.main(words)
    assert not (tmp_path / "mean.pt").exists()


@pytest.mark.parametrize("flag", ["--restore-file", "--finetune-from-model"])
def test_training(flag, other, save, tmp_path):
    last = save / "checkpoint_last.pt"
    words = training(other, tmp_path, *STOCK, "--max-epoch", 2, flag, last)
    assert_explained(run(tmp_path, "train", *words), other, "target dictionary", last)


def test_a_folder_of_another_run(corpus, save):
    """Another architecture may have parameters of the same names and shapes."""
    before = (save / "checkpoint_last.pt").read_bytes()
    words = training(corpus, save, *STOCK, "--max-epoch", 2)
    other = run(save, "train", *words, "--arch", "transformer_iwslt_de_en")
    assert_explained(other, f"--save-dir {save}", "'transformer'", "'transformer_iwslt_de_en'")
    reverse = run(save, "train", *words, "--source-lang", TARGET, "--target-lang", SOURCE)
    assert_explained(reverse, f"from {SOURCE} to {TARGET}", "the other direction")
    assert (save / "checkpoint_last.pt").read_bytes() == before


def test_from_pretrained(corpus, other, save):
    def translate(data):
        model = TransformerModel.from_pretrained(str(save), "checkpoint_last.pt", str(data))
        return model.translate("badun kefar")

    assert isinstance(translate(corpus), str)
    with pytest.raises(UserError, match=f"{other}: its target dictionary"):
        translate(other)


def test_plain_fairseq_reads_the_checkpoint(corpus, save, bare, tmp_path):
    program = "from fairseq_cli.generate import cli_main; cli_main()"
    words = [corpus, "--path", save / "checkpoint_last.pt", "--cpu", "--max-tokens", 80, *LANGUAGES]
    words += ["--max-len-b", 5]
    # the safe loader of torch 2.6 refuses all checkpoints of plain fairseq
    unsafe = {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
    bare.run(program, *words, folder=tmp_path, environment=unsafe).good()


def test_shards_of_another_dictionary(corpus, other, save, tmp_path):
    def train(*folders):
        data = os.pathsep.join(map(str, folders))
        return run(tmp_path, "train", *training(data, tmp_path, *STOCK, "--max-epoch", 2))

    assert_explained(train(corpus, other), other / f"dict.{TARGET}.txt", "another order", corpus)
    small = tmp_path / "small"
    shutil.copytree(corpus, small)
    words = (small / f"dict.{TARGET}.txt").read_text("utf-8").splitlines(keepends=True)
    (small / f"dict.{TARGET}.txt").write_text("".join(words[:-2]), "utf-8")
    assert_explained(train(small, corpus), corpus / f"dict.{TARGET}.txt", small)
    assert not list(tmp_path.glob("*.pt"))
    train(corpus, corpus).good()


def test_the_data_of_dc_nmt(corpus, other, save, tmp_path, capfd):
    (tmp_path / "text").write_text("badun kefar\n")
    last, text = str(save / "checkpoint_last.pt"), str(tmp_path / "text")
    words = ["translate", last, text, "--tokenizer", "none", "--cpu", "--data"]
    assert cli.main([*words, str(other)]) == 1
    output, errors = capfd.readouterr()
    assert f"error: {other}: its target dictionary has other words" in errors and not output
    assert cli.main([*words, str(corpus)]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 1
