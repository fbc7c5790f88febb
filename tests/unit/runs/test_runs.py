"""``run.json``: read, refused, found after moving, and converted from the form before."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import fields
from pathlib import Path

import pytest
from records import REFERENCE, change, values_of, write_run, write_scored

from dc_nmt_plugin import cli
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.files import sha256
from dc_nmt_plugin.runs import schema
from dc_nmt_plugin.runs.finding import Run
from dc_nmt_plugin.runs.places import text_file
from dc_nmt_plugin.runs.records import read_record, record_path, write_record

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "runs.md"
OTHER = [line.replace("Haus", "Boot") for line in REFERENCE]


def write_lines(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture
def run(tmp_path):
    """A scored run beside its text."""
    reference = write_lines(tmp_path / "task/data/ref.de", REFERENCE)
    folder = write_run(tmp_path / "task" / "dc-s3")
    write_lines(folder / "out.de", REFERENCE)
    digest = schema.TextFile("../data/ref.de", sha256(reference))
    return write_scored(folder, "out.de", "", references=(digest,))


def test_a_record_is_read_as_it_was_written(run):
    record = read_record(run)
    write_record(run / "again.json", record)
    assert read_record(run / "again.json") == record
    assert (record.name, record.system, record.seed) == ("dc-s3", "dc", 3)


def broken(values, place, value):
    *path, last = place
    for key in path:
        values = values[key]
    if value is None:
        del values[last]
    else:
        values[last] = value


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["schema"], 2, "has schema 2, and this version reads 1: update dc_nmt_plugin"),
        (["schema"], None, "is no record of a run, 'schema' is missing"),
        (["name"], None, "name: is missing; the file is damaged, or was changed by hand"),
        (["seed"], "3", "seed: '3' is no whole number"),
        (["training", "updates"], True, "training.updates: True is no whole number"),
        (
            ["settings", "lr"],
            [1],
            r"settings.lr: \[1\] is no truth value or whole number or number or text",
        ),
        (
            ["decodings", 0, "scores", 1, "value"],
            "x",
            r"decodings\[0\].scores\[1\].value: 'x' is no number",
        ),
        (["decodings"], {}, "decodings: {} is no list"),
        (
            ["decodings", 0, "kind"],
            "x",
            r"decodings\[0\].kind: 'x' is not one of generated, raw, tokenized",
        ),
        (["data"], "de", "data: 'de' is no object"),
        (["colour"], "red", "colour: 'colour' is not one of schema, name"),
    ],
)
def test_other_versions_and_damaged_records_are_refused(run, place, value, message):
    values = values_of(run)
    broken(values, place, value)
    (run / "run.json").write_text(json.dumps(values))
    with pytest.raises(UserError, match=f"run.json: {message}") as refused:
        read_record(run)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["{", "[]", "nul", '{"schema": NaN}', "[" * 100_000])
def test_a_file_that_is_no_record(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UserError, match=r"run\.json: (not JSON|is no record of a run)"):
        read_record(tmp_path)


def test_the_text_of_a_run_is_found_wherever_the_run_is(run, tmp_path):
    """Renamed, moved with its text, and moved alone."""
    renamed = run.rename(run.parent / "best")
    assert Run.read(renamed).record.name == "dc-s3"
    places = [renamed, shutil.copytree(run.parent, tmp_path / "moved") / "best"]
    places.append(shutil.copytree(renamed, tmp_path / "deep" / "alone"))
    for place in places:
        found = Run.read(place)
        (reference,) = found.decoding.references
        assert Path(found.text(reference)).read_text("utf-8").splitlines() == REFERENCE
    assert str(tmp_path / "moved/data/ref.de") == Run.read(places[1]).text(reference)


def test_another_text_in_the_place_of_the_run_s_is_not_taken(run, tmp_path):
    moved = shutil.copytree(run, tmp_path / "elsewhere" / "dc")
    write_lines(tmp_path / "elsewhere/data/ref.de", OTHER)
    (reference,) = Run.read(moved).decoding.references
    assert Run.read(moved).text(reference) == str(run.parent / "data/ref.de")
    change(moved, written_in=None)
    with pytest.raises(UserError, match=r"ref\.de: is another text than .* was scored with"):
        Run.read(moved).text(reference)


def test_the_text_beside_a_link_to_a_run_is_its_text(run, tmp_path):
    change(run, written_in=None)
    away = run.rename(tmp_path / "disk")
    run.symlink_to(away)
    (reference,) = Run.read(run).decoding.references
    assert Run.read(run).text(reference) == str(run.parent / "data/ref.de")


def test_a_reference_from_a_pipe_has_no_digest(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert text_file(tmp_path, tmp_path / "pipe") == schema.TextFile("pipe")


def test_a_translation_is_named_behind_a_colon(run):
    write_scored(run, "out.de", "", name="aux1", search="--decode-with aux:1")
    assert Run.read(run).decoding.way == "" and Run.read(Path(f"{run}:aux1")).decoding.name
    with pytest.raises(UserError, match="no scored translation 'aux2'; there is aux1"):
        Run.read(Path(f"{run}:aux2"))


# -- the form before ------------------------------------------------------------------------------

COMMAND = (
    "fairseq-train data/bin --user-dir /home/me --arch transformer_dc --source-lang en "
    "--target-lang de --adam-betas '(0.9, 0.98)' --lr 1e-3 --cpu --max-tokens 500 "
    "--update-freq 2 --seed 3 --save-dir runs/x\n"
)
RESULT = {
    "name": "transformer_dc", "source_lang": "en", "target_lang": "de", "sentences": 3,
    "parameters": 1000, "updates": 20, "train_tokens_per_second": 9.5, "train_seconds": 5.0,
    "decode_sentences_per_second": 50.0, "hypotheses": "task/dc-s3/hypotheses.de",
    "reference": "task/data/ref.de", "source": None, "arch": "transformer_dc",
    "decode_with": None,
    "scores": [{"metric": "mteval-v13a", "score": 12.5, "signature": "s", "text": "t",
                "paper": True}],
    "texts": {"hypotheses": "task/dc-s3/hypotheses.de", "kind": "raw", "target_lang": "de",
              "tokenizer": "moses", "reference": "task/data/ref.de", "tokenized_reference": None,
              "truecased": False, "more_references": []},
}  # fmt: skip
LOG = (
    "$ fairseq-generate data/bin --path x --results-path out --beam 4 --lenpen 0.6\n"
    "x | INFO | {'generation': {'beam': 4, 'lenpen': 0.6}, 'task': {'decode_with': 'main'}}\n"
    "x | Translated 3 sentences (30 tokens) in 1.5s (2.00 sentences/s, 20.50 tokens/s)\n"
)


@pytest.fixture
def before(tmp_path, monkeypatch):
    """A run as the recipes left it before run.json, and a second translation of it."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "task" / "dc-s3"
    write_lines(tmp_path / "task/data/ref.de", REFERENCE)
    write_lines(folder / "hypotheses.de", REFERENCE)
    texts = {
        "command.txt": COMMAND,
        "data.stamp": "1-1\n",
        "train.log": "log\n",
        "score/.stamp": "1-1\n",
        "score/result.json": json.dumps(RESULT),
        "score-valid.aux1/result.json": json.dumps({**RESULT, "decode_with": "aux:1"}),
        "generate.log": LOG,
        "generate-valid.aux1.log": "{'gen_subset': 'valid', 'decode_with': 'aux:1', 'beam': 5}\n",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        "results task",
        "results task/dc-s3",
        "compare task/dc-s3 x",
        "analyze curves task/dc-s3",
        "bench task/dc-s3 --count",
    ],
)
def test_a_folder_of_before_names_the_line_that_converts_it(before, capsys, words):
    Path("x").write_text("a\n")
    assert cli.main(words.split()) == 1
    told = capsys.readouterr().err
    assert re.search(r"convert them once with: dc-nmt doctor (\S+/)?task/dc-s3\n", told)


def test_a_folder_of_before_is_converted_once(before, capsys):
    assert cli.main(["doctor", "task/dc-s3"]) == 0
    assert "written: task/dc-s3/run.json" in capsys.readouterr().out
    record = read_record(before)
    assert (record.name, record.system, record.seed) == ("dc-s3", "dc", 3)
    assert (record.task, record.architecture) == ("task", "transformer_dc")
    assert record.settings["adam-betas"] == "(0.9, 0.98)" and record.settings["lr"] == 0.001
    assert record.settings["cpu"] is True and "save-dir" not in record.settings
    assert (record.training.updates, record.training.tokens) == (20, 1000)
    main, aux = record.decodings
    assert main.search == {"beam": 4, "lenpen": 0.6} and main.tokens_per_second == 20.5
    assert main.references == (schema.TextFile("../data/ref.de", sha256(Path("task/data/ref.de"))),)
    assert (aux.subset, aux.name, aux.decoder) == ("valid", "aux1", "aux:1")
    left = {path.relative_to(before).as_posix() for path in before.rglob("*") if path.is_file()}
    assert left == {
        "command.txt", "generate-valid.aux1.log", "generate.log", "hypotheses.de", "run.json",
        "train.log",
    }  # fmt: skip
    assert cli.main(["results", "task", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["label"], row["arch"], row["score"]) == ("dc-s3", "transformer_dc", 100)
    assert cli.main(["doctor", "task/dc-s3"]) == 1
    assert "has a run.json already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("command.txt", "fairseq-train '", "command.txt: is damaged"),
        ("score/result.json", "{", "result.json: not JSON"),
        ("score/result.json", "{}", "'target_lang' is missing"),
    ],
)
def test_a_damaged_folder_of_before_stays_as_it_is(before, capsys, name, text, message):
    (before / name).write_text(text)
    assert cli.main(["doctor", str(before)]) == 1
    assert message in capsys.readouterr().err
    assert not (before / "run.json").exists() and (before / "data.stamp").exists()


def test_the_three_scores_of_the_first_version(before):
    old = {k: v for k, v in RESULT.items() if k not in ("scores", "texts", "arch", "decode_with")}
    old |= {"bleu": 1.0, "bleu_lc": 2.0, "chrf": 3.0}
    old |= {f"{name}_signature": name for name in ("bleu", "bleu_lc", "chrf")}
    (before / "score/result.json").write_text(json.dumps(old))
    assert cli.main(["doctor", str(before)]) == 0
    found = Run.read(before)
    assert [s.metric for s in found.decoding.scores] == ["mteval-v13a", "mteval-v13a-lc", "chrf"]
    assert found.record.architecture == "transformer_dc" and found.decoding.kind == "raw"


def test_a_folder_that_is_no_run(tmp_path, capsys):
    assert cli.main(["doctor", str(tmp_path)]) == 1
    assert "is no run of an earlier version" in capsys.readouterr().err
    with pytest.raises(UserError, match=r"no run\.json in it: the run has not begun, or no run"):
        record_path(tmp_path)


# -- the page -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Record", "Data", "Training", "Decoding", "TextFile", "Score"])
def test_the_page_describes_every_field(kind):
    text = PAGE.read_text("utf-8")
    table = text.split(f"<!-- {kind} -->")[1].split("<!--")[0]
    named = [
        name
        for row in re.findall(r"^\| ([^|]+) \|", table, re.M)
        for name in re.findall(r"`(\w+)`", row)
    ]
    assert named == [each.name for each in fields(getattr(schema, kind))]


def test_a_kept_run_is_what_the_page_shows():
    page = PAGE.read_text("utf-8")
    assert f'"schema": {schema.SCHEMA}' in page
    for path in (ROOT / "examples").glob("**/run.json"):
        assert read_record(path).written_in is None
