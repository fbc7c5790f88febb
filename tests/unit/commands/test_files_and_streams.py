"""Two commands at once, damaged and foreign files, empty values and closed streams."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from helpers import toy_text

from dc_nmt_plugin import cli
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.files import making, no_space

PROGRAM = [sys.executable, "-m", "dc_nmt_plugin"]
SCORE = ["score", "h.de", "--reference", "r.de", "--target-lang", "de", "--metrics", "chrf"]


@pytest.fixture
def here(cwd):
    """A folder with a translation and its reference."""
    (cwd / "h.de").write_text("ein Haus am See\n" * 3)
    (cwd / "r.de").write_text("ein Haus beim See\n" * 3)
    return cwd


def refused(capsys, *words):
    code = cli.main(list(words))
    errors = capsys.readouterr().err
    assert code and errors.count("\n") == 1 and "Traceback" not in errors
    return errors


def test_scores_at_once_are_all_in_the_record(here):
    def score(name):
        return subprocess.run([*PROGRAM, *SCORE, "--as", name, "--out", "runs.json"], check=True)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(score, "abc"))
    names = [each["name"] for each in json.loads((here / "runs.json").read_text())["decodings"]]
    assert sorted(names) == ["a", "b", "c"]


def test_what_cannot_be_read_is_not_replaced(here, capsys):
    for name, content in (("run.json", "{"), ("foreign.json", '{"mine": 1}'), ("text", "mine")):
        (here / name).write_text(content)
        assert name in refused(capsys, *SCORE, "--out", name)
        assert (here / name).read_text() == content
    assert "is a file that is read" in refused(capsys, *SCORE, "--detokenized", "h.de")
    names = ("m.pt", "checkpoint3.pt", "checkpoint_1_10.pt", "checkpoint.best_loss_2.10.pt")
    for name in names:
        torch.save({"model": {"w": torch.zeros(1)}}, here / name)
    for out in names:
        assert out in refused(capsys, "average", "m.pt", "--out", out)


def test_text_of_a_user_is_not_replaced_by_a_recipe_s(here, capsys):
    """Also where the recipe reads it: `data/raw` is a usual place for raw text."""
    raw = here / "data/raw"
    raw.mkdir(parents=True)
    new = ["new", "mine", "--bpe", "100"]
    for split, pairs in (("train", 210), ("valid", 12), ("test", 12)):
        sides = zip(*toy_text("de", "en", pairs, seed=pairs + len(split)), strict=True)
        new += [f"--{split}", *(f"data/raw/{split}.{language}" for language in ("de", "en"))]
        for path, lines in zip(new[-2:], sides, strict=True):
            (here / path).write_text("\n".join(lines) + "\n", "utf-8")
    before = {path: path.read_bytes() for path in raw.iterdir()}
    assert cli.main(new) == 0
    capsys.readouterr()
    prepare = ["prepare", "mine", "--out"]
    assert "data/raw/train.de: is read, and data/raw is made" in refused(capsys, *prepare, ".")
    text = ["recipe", "text", "mine", "--work", "work", "--out", "data/raw"]
    assert "--out data/raw: data/raw/train.de would be" in refused(capsys, *text)
    (raw / "manifest.json").touch()
    assert "--out data/raw: data/raw/train.de would be" in refused(capsys, *text)
    (raw / "manifest.json").unlink()

    (here / "other/data/bin").mkdir(parents=True)
    (here / "other/data/bin/thesis.tex").write_text("mine")
    assert cli.main([*prepare, "other", "--dry-run"]) == 0
    script = capsys.readouterr().out
    assert "other/data/bin: dc-nmt prepare did not make" in refused(capsys, *prepare, "other")
    assert not (here / "other/data/raw").exists(), "nothing was prepared before"
    (here / "other/data/bin").rename(here / "other/data/raw")
    done = subprocess.run(["bash"], input=script, text=True, capture_output=True, check=False)
    assert done.returncode == 1 and "other/data/raw" in done.stderr  # mkdir
    assert (here / "other/data/raw/thesis.tex").read_text() == "mine"
    assert before == {path: path.read_bytes() for path in raw.iterdir()}


def test_one_of_two_gets_a_folder(here):
    with pytest.raises(UserError, match="new exists already"), making(here / "new") as mine:
        (mine / "file").write_text("mine")
        (here / "new").mkdir()  # by another process
        (here / "new/file").write_text("other")
    assert (here / "new/file").read_text() == "other"
    with pytest.raises(OSError, match="full"), making(here / "full"):
        raise OSError("full")
    assert sorted(path.name for path in here.iterdir() if path.is_dir()) == ["new"]
    assert no_space(RuntimeError("basic_ios::clear: iostream error"))  # of torch.save
    assert no_space(ValueError("I/O error: No space left on device (os error 28)"))


def test_empty_values_and_closed_streams(here, capsys):
    for words in (
        [*SCORE, "--out", ""],
        ["analyze", "gates", "--plot", ""],
        ["average", "", "--out", "x"],
    ):
        assert "'' is not a value" in refused(capsys, *words)
    for command, sentence in (
        ("--help >/dev/full", "No space left"),
        ("--help >&-", ""),
        ("arch-flags | true", ""),  # more than fits a pipe's buffer, and no reader
    ):
        words = f"{shlex.quote(sys.executable)} -m dc_nmt_plugin {command}"
        done = subprocess.run(words, shell=True, capture_output=True, text=True, check=False)
        assert sentence in done.stderr and done.stderr.count("\n") == bool(sentence)
        assert "Traceback" not in done.stderr and "Exception" not in done.stderr
