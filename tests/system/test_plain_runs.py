"""A run of plain ``fairseq-train`` in dc-nmt's commands: record, learning curve, text, pack."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest
import torch
from commands import ROOT, assert_explained, run
from records import write_scored
from systems import generation, load, training

from dc_nmt_plugin import cli
from dc_nmt_plugin.files import sha256
from dc_nmt_plugin.laboratory.inference.portable import portable
from dc_nmt_plugin.runs.record import read_record
from dc_nmt_plugin.study.analysis.curves import read_curves

ARCH = "transformer_dc"


# of this plugin, and fairseq's own
@pytest.fixture(
    scope="module",
    params=[(ARCH, ARCH, ARCH), ("transformer", "translation", "label_smoothed_cross_entropy")],
    ids=["plugin", "fairseq"],
)
def plain(request, corpus, tmp_path_factory):
    """Save folder of a run with a log that nothing reads, stopped after 3 updates and continued."""
    folder = tmp_path_factory.mktemp("plain")
    arch, task, criterion = request.param
    flags = ["--arch", arch, "--task", task, "--criterion", criterion, "--log-format", "simple"]
    for updates in (3, 6):
        more = ["--max-update", updates, "--validate-interval-updates", 2, "--seed", 7]
        more += ["--valid-subset", "valid,test1"]
        done = run(folder, "train", *training(corpus, folder / "dc-s7", *flags, *more)).good()
        (folder / "dc-s7/printed").write_text(done.output)
    return folder / "dc-s7"


def dc_nmt(capfd, *words):
    code = cli.main(list(map(str, words)))
    output, errors = capfd.readouterr()
    assert code == 0, errors
    return output


def test_fairseq_train_writes_the_record(plain, corpus):
    record = read_record(plain)
    assert (record.name, record.system, record.seed) == ("dc-s7", "dc", 7)
    assert record.architecture == record.settings["arch"]
    assert record.settings["validate-interval-updates"] == 2
    assert record.settings.keys().isdisjoint(("user-dir", "save-dir"))
    assert record.training.updates == 6 and record.training.tokens_per_second > 0
    assert record.training.parameters > 0 and record.training.device
    assert record.data.dictionaries and record.data.text and record.decodings == ()
    assert record.data.valid == sha256(*sorted(corpus.glob("valid.*")))
    assert [start.from_update for start in record.starts] == [0, 3]
    assert all(start.command.startswith(f"fairseq-train {corpus} ") for start in record.starts)
    words = ["git", "-C", ROOT, "rev-parse", "HEAD"]
    commit = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    assert (record.starts[0].commit or "").removesuffix("-dirty") == commit
    curves = read_curves(plain / "curve.log")
    assert [update for update, _ in curves["valid:loss"]] == [2, 3, 4, 6]
    assert (plain / "curve.log").read_text().count("| valid |") == 4, "of the first set"
    text = (plain / "printed").read_text()
    printed = re.findall(r" \| train_inner \| .* loss=([\d.]+), .*num_updates=4,", text)
    assert curves["train:loss"][2] == (4, pytest.approx(float(printed[0]), abs=1e-3))
    assert curves["train:loss"][-1][0] == 6
    assert ("valid:dv_encoder" in curves) == (record.architecture == ARCH)


def test_another_training_in_the_folder_has_a_record_of_its_own(plain, corpus, tmp_path):
    folder = shutil.copytree(plain, tmp_path / "dc-s7")
    record = read_record(write_scored(folder, "out.de", ""))
    flags = [f"--{name}={record.settings[name]}" for name in ("arch", "task", "criterion")]

    def train(updates):
        return run(folder, "train", *training(corpus, folder, *flags, "--max-update", updates))

    train(7).good()
    again = read_record(folder)
    assert (again.training.updates, again.decodings) == (7, record.decodings)
    for path in folder.glob("*.pt"):
        path.unlink()
    before = (folder / "run.json").read_bytes()
    assert_explained(train(1), f"--save-dir {folder}", "run.json has the scores of a training")
    assert (folder / "run.json").read_bytes() == before
    (folder / "run.json").rename(tmp_path / "kept.json")
    train(1).good()
    again = read_record(folder)
    assert (again.training.updates, again.decodings) == (1, ())
    assert [update for update, _ in read_curves(folder / "curve.log")["valid:loss"]] == [1]


def test_a_packed_model_needs_no_file_of_embeddings(plain):
    state = load(plain)
    state["cfg"]["model"].encoder_embed_path = "vectors.txt"
    packed = portable(state, "checkpoint_last.pt", "data")
    assert packed["cfg"]["model"].encoder_embed_path is None


def test_all_commands_take_it(plain, corpus, tmp_path, capfd):
    folder = shutil.copytree(plain, tmp_path / "dc-s7")
    assert "valid:loss" in dc_nmt(capfd, "analyze", "curves", folder)
    words = generation(corpus, folder / "checkpoint_last.pt", ARCH)
    output = run(tmp_path, "generate", *words).good().output
    (tmp_path / "output.txt").write_text(output)
    lines = [line.split("\t") for line in output.splitlines() if line.startswith("T-")]
    reference = [text for _, text in sorted((int(number[2:]), text) for number, text in lines)]
    (tmp_path / "reference").write_text("".join(f"{line}\n" for line in reference))
    assert cli.main(["results", str(folder)]) == 1
    assert f"score OUTPUT … --out {folder}/run.json" in capfd.readouterr().err
    words = ["score", tmp_path / "output.txt", "--reference", tmp_path / "reference"]
    dc_nmt(capfd, *words, "--target-lang", "de", "--out", folder / "run.json")
    (row,) = json.loads(dc_nmt(capfd, "results", folder, "--json"))["rows"]
    assert (row["system"]["label"], row["system"]["updates"]) == ("dc-s7", 6)
    assert row["system"]["arch"] == read_record(folder).architecture

    def translated(place, *more):
        words = ["translate", place, "--sentence", "badun kefar", "--tokenizer", "none", "--cpu"]
        return dc_nmt(capfd, *words, *more)

    expected = translated(folder / "checkpoint_last.pt", "--data", corpus)
    dc_nmt(capfd, "export", folder, "--run", tmp_path / "packed", "--data", corpus)
    model = torch.load(tmp_path / "packed/average/checkpoint.pt", weights_only=True)
    assert model["cfg"]["model"].seed == 7, "by which dc-nmt average knows that it is another run's"
    assert len(expected.splitlines()) == len(translated(tmp_path / "packed").splitlines()) == 1
    (tmp_path / "codes").write_text("#version: 0.2\nb a\n")
    words = ["translate", folder, "--tokenizer", "none", "--bpe-codes", tmp_path / "codes"]
    assert cli.main(list(map(str, words))) == 1
    assert "codes: is not the file that segmented the training text: it" in capfd.readouterr().err
