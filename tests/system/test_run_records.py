"""``run.json`` of a real run: two updates, two translations, a score by hand; renamed and moved."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import forks
import pytest
from commands import ROOT
from interruption import updates
from test_translate import ARCH, RUN, home  # noqa: F401

from dc_nmt_plugin import cli, steps
from dc_nmt_plugin.files import sha256
from dc_nmt_plugin.runs.finding import dictionaries_of
from dc_nmt_plugin.runs.record import read_record

pytestmark = pytest.mark.usefixtures("known_command_lines")


@pytest.fixture(scope="module")
def run(home):  # noqa: F811
    """The run of ``dc-nmt run mine``, translated again with another beam, and scored by hand."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setattr(steps, "start", forks.start)
        assert cli.main(["evaluate", "mine", ARCH, "--as", "beam1", "--", "--beam", "1"]) == 0
        words = [f"{RUN}/hypotheses.fr", "--reference", "test.fr"]
        words += ["--target-lang", "fr", "--as", "by.hand", "--out", f"{RUN}/run.json"]
        assert cli.main(["score", *words]) == 0
    return home / RUN


@pytest.fixture
def said(capfdbinary):
    """A run's folder → what each command prints of it, without the folder's name."""

    def of(folder: Path) -> dict[str, str]:
        found = {}
        for name, words in {
            "results": ["results", folder, "--json"],
            "compare": ["compare", folder, f"{folder}:beam1"],
            "curves": ["analyze", "curves", folder],
            "translate": ["translate", folder, ROOT / "README.md", "--json"],
        }.items():
            if name == "translate":
                source = Path("lines.en")
                source.write_text("The dog.\nBob's cats.\n")
                words[2] = source
            assert cli.main(list(map(str, words))) == 0, capfdbinary.readouterr().err
            found[name] = capfdbinary.readouterr().out.decode()
        rows = json.loads(found["results"])["rows"]
        found["results"] = json.dumps([{**row, "run": ""} for row in rows])
        return found

    return of


def test_everything_is_in_one_record(run):
    record = read_record(run)
    assert record.name == run.name and record.system == run.name.removesuffix("-s1")
    assert (record.task, record.seed, record.training.updates) == ("mine", 1, 2)
    assert record.settings["encoder-embed-dim"] == 16 and record.settings["max-update"] == 2
    data = run.parent / "data/bin"
    assert record.data.dictionaries == dictionaries_of(data)
    assert record.data.text == sha256(*sorted(data.glob("train.*")))
    main, beam, hand = record.decodings
    assert (main.key, beam.key, hand.key) == ("", "beam1", "by.hand")
    assert main.search == {"beam": 3, "max-len-b": 8, "max-len-a": 0, "lenpen": 0.7}
    assert beam.search == {**main.search, "beam": 1}
    assert main.checkpoint == "average/checkpoint.pt" and main.averaged == 2
    scores = {score.metric: score.value for score in main.scores}
    assert scores["mteval-v13a"] == hand.score("mteval-v13a").value
    assert "torch" in record.training.versions and record.training.device
    assert main.device == beam.device == record.training.device and hand.device is None
    text = (run / "run.json").read_text("utf-8")
    # places of this machine: `written_in`, and the reference from outside of the task's folder
    assert text.count(str(run.parents[1])) == 2


def test_a_run_says_the_same_wherever_it_is(run, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = said(run)
    assert run.name in expected["compare"] and "beam1" in expected["results"]
    with_text = shutil.copytree(run.parent, tmp_path / "deep" / "task")
    renamed = (with_text / run.name).rename(with_text / "the best-s7")
    alone = shutil.copytree(run, tmp_path / "alone-s2")
    for folder in (renamed, alone):
        assert said(folder) == expected


@pytest.fixture
def copy(run, tmp_path, monkeypatch):
    """A copy of the run, in a copy of its folders, which is the working directory."""
    place = shutil.copytree(run.parents[1], tmp_path / "copy")
    monkeypatch.chdir(place)
    monkeypatch.setattr(steps, "start", forks.start)
    return place / RUN


def test_a_training_that_was_killed_before_its_stamp(copy, capfd):
    """Its last checkpoint has all updates: the same command makes no further one."""
    (copy / "training.stamp").unlink()
    assert cli.main(["evaluate", "mine", ARCH]) == 0
    assert "has not finished" in capfd.readouterr().err
    assert cli.main(["train", "mine", ARCH, "--max-update", "2"]) == 0
    assert (copy / "training.stamp").is_file()
    assert updates(copy / "checkpoints") == 2
    assert read_record(copy).training.updates == 2
    # what was translated of an unfinished training is translated again
    (copy / "hypotheses.fr").write_text("of before\n")
    assert cli.main(["evaluate", "mine", ARCH]) == 0
    assert len((copy / "hypotheses.fr").read_text("utf-8").splitlines()) > 1


def test_a_run_is_evaluated_on_the_text_that_it_was_trained_for(copy, capfd):
    with open(next(copy.parent.glob("data/bin/train.*.idx")), "ab") as index:
        index.write(b"newer")
    assert cli.main(["evaluate", "mine", ARCH]) == 1
    assert "was trained when mine/data/bin had other text" in capfd.readouterr().err


def test_it_is_done_once(run, monkeypatch, capsys):
    monkeypatch.chdir(run.parents[1])
    monkeypatch.setattr(steps, "start", lambda *_, **__: pytest.fail("it ran again"))
    before = (run / "run.json").read_bytes()
    assert cli.main(["run", "mine", "--max-update", "2"]) == 0
    assert cli.main(["evaluate", "mine", ARCH, "--as", "beam1", "--", "--beam", "1"]) == 0
    capsys.readouterr()
    assert (run / "run.json").read_bytes() == before
