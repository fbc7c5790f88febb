"""From the files that people have to a trained run, by ``dc-nmt new``."""

from __future__ import annotations

import shutil

import forks
import pytest
from downloads import packed, write_forms
from helpers import toy_text

from dc_nmt_plugin import cli
from dc_nmt_plugin.runs.record import read_record
from dc_nmt_plugin.text.lines import read_lines

RUN = "transformer_standard-s1"
SMALL = ["--max-update", "2", "--average", "1", "--num-workers", "0", "--log-interval", "1"]
for side in ("encoder", "decoder"):
    SMALL += [f"--{side}-layers", "1", f"--{side}-embed-dim", "16", f"--{side}-ffn-embed-dim", "16"]
    SMALL += [f"--{side}-attention-heads", "2"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with the same pairs in every form, and the run of two plain files."""
    here = tmp_path_factory.mktemp("home")
    write_forms(here, toy_text("en", "de", 300, seed=3))
    for code in ("en", "de"):
        for form in ("xz", "zst"):
            data = packed(form, (here / f"a.{code}").read_bytes())
            (here / f"a.{code}.{form}").write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        forks.start_for_recipes(patch)
        train("plain", "a.en", "a.de")
        yield here


def train(name, *files):
    """Makes a recipe, and trains two updates."""
    assert cli.main(["new", name, "--bpe", "100", "--train", *files]) == 0
    assert cli.main(["prepare", name]) == 0
    assert cli.main(["train", name, "transformer_standard", *SMALL]) == 0


def text_and_losses(folder):
    """The prepared text, and the losses of each update."""
    data = {
        path.relative_to(folder): path.read_bytes()
        for path in folder.glob("data/b*/*")
        if path.name != ".stamp" and path.suffix != ".log"
    }
    return data, (folder / RUN / "curve.log").read_text()


@pytest.mark.parametrize(
    "files",
    [
        ["WikiMatrix.en-de.tsv"],
        ["three.tmx", "--source-lang", "en", "--target-lang", "de"],
        ["set.jsonl"],
        ["de-en.txt.zip", "--source-lang", "en"],
        ["a.en.xz", "a.de.xz"],
        ["a.en.zst", "a.de.zst"],
    ],
    ids=["third column", "languages", "JSON", "zip", "xz", "zst"],
)
def test_every_form_trains_as_two_plain_files(home, files):
    shutil.rmtree(home / "mine", ignore_errors=True)
    train("mine", *files)
    expected, actual = text_and_losses(home / "plain"), text_and_losses(home / "mine")
    assert len(expected[0]) == 22 and expected[1].count("train_inner") == 2
    assert actual == expected


def test_an_added_corpus_with_a_tag_is_trained_on_and_scored(home, capfd):
    (home / "b.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in toy_text("en", "de", 90, seed=9)))
    words = ["--train", "a.en", "a.de", "--add", "b.tsv", "repeat=2", "tag=<bt>", "--bpe", "100"]
    assert cli.main(["new", "tagged", *words]) == 0
    assert cli.main(["run", "tagged", *SMALL]) == 0
    pieces = read_lines(home / "tagged/data/bpe/train.en")
    assert sum(line.startswith("<bt> ") for line in pieces) == 180, "the tag is one piece"
    symbols = [line.split()[0] for line in read_lines(home / "tagged/data/bin/dict.en.txt")]
    assert "<bt>" in symbols
    for split in ("valid", "test"):
        assert "<bt>" not in (home / f"tagged/data/bpe/{split}.en").read_text("utf-8")
    (decoding,) = read_record(home / "tagged" / RUN).decodings
    assert decoding.scores
    capfd.readouterr()
    assert cli.main(["results", "tagged"]) == 0 and "transformer_standard" in capfd.readouterr().out
