"""``run.json``: read, refused, and found after moving."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from records import REFERENCE, change, values_of, write_record, write_run, write_scored

from dc_nmt_plugin.compat.run_record import _recipe
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.files import sha256
from dc_nmt_plugin.laboratory.finding import Run, located
from dc_nmt_plugin.laboratory.table import distinguished
from dc_nmt_plugin.runs import record as schema
from dc_nmt_plugin.runs.call import _commit
from dc_nmt_plugin.runs.data import preparation_of
from dc_nmt_plugin.runs.record import read_record, run_folder

ROOT = Path(__file__).parents[3]
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


def reference_of(folder):
    run = Run.read(folder)
    (reference,) = run.decoding.references
    return located(run.path, run.record, reference)


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
        (["schema"], None, "is no record of a run"),
        (["training", "updates"], True, "training.updates: Expected `int"),
        (["settings", "lr"], [1], "settings.lr: Expected `"),
        (["decodings", 0, "scores", 1, "value"], "x", r"decodings\[0\].scores\[1\].value: Exp"),
        (["decodings", 0, "kind"], "x", r"decodings\[0\].kind: 'x' is not one of generated, raw"),
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


def test_what_a_killed_process_left_of_a_record_goes_with_the_next_one(run):
    (run / ".run.json.7").write_text("{")
    change(run, seed=9)
    assert not list(run.glob(".run.json*")) and read_record(run).seed == 9


@pytest.mark.parametrize("text", ["{", "[]", "nul", '{"schema": NaN}', "[" * 100_000])
def test_a_file_that_is_no_record(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UserError, match=r"run\.json: (not JSON|is no record of a run)"):
        read_record(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"task": "mine"}', None])
def test_a_manifest_of_others_is_not_that_of_a_preparation(tmp_path, text):
    if text:
        write_lines(tmp_path / "raw/manifest.json", [text])
    assert preparation_of(tmp_path / "bin") is None


def test_the_task_of_a_run_has_its_direction(tmp_path):
    write_lines(tmp_path / "raw/manifest.json", ['{"task": "iwslt15_en_vi", "text": ""}'])
    assert _recipe(tmp_path / "bin", "vi", "en") == "iwslt15_vi_en"


def test_the_record_of_a_folder_at_the_root_is_in_it():
    for save_dir, folder in (("/checkpoints", "/checkpoints"), ("/run/checkpoints", "/run")):
        assert run_folder(Path(save_dir)) == Path(folder)


def test_the_text_of_a_run_is_found_wherever_the_run_is(run, tmp_path):
    """Renamed, moved with its text, and moved alone."""
    renamed = run.rename(run.parent / "best")
    assert Run.read(renamed).record.name == "dc-s3"
    places = [renamed, shutil.copytree(run.parent, tmp_path / "moved") / "best"]
    places.append(shutil.copytree(renamed, tmp_path / "deep" / "alone"))
    for place in places:
        assert Path(reference_of(place)).read_text("utf-8").splitlines() == REFERENCE
    assert str(tmp_path / "moved/data/ref.de") == reference_of(places[1])


def test_another_text_in_the_place_of_the_run_s_is_not_taken(run, tmp_path):
    moved = shutil.copytree(run, tmp_path / "elsewhere" / "dc")
    write_lines(tmp_path / "elsewhere/data/ref.de", OTHER)
    assert reference_of(moved) == str(run.parent / "data/ref.de")
    change(moved, written_in=None)
    with pytest.raises(UserError, match=r"ref\.de: is another text than .* was scored with"):
        reference_of(moved)


def test_the_text_beside_a_link_to_a_run_is_its_text(run, tmp_path):
    change(run, written_in=None)
    away = run.rename(tmp_path / "disk")
    run.symlink_to(away)
    assert reference_of(run) == str(run.parent / "data/ref.de")


def test_a_translation_is_named_behind_a_colon(run):
    write_scored(run, "out.de", "", name="aux1", search="--decode-with aux:1")
    assert Run.read(run).decoding.key == "" and Run.read(Path(f"{run}:aux1")).decoding.name
    with pytest.raises(UserError, match="no scored translation 'aux2'; there is aux1"):
        Run.read(Path(f"{run}:aux2"))


def test_equal_names_of_several_folders_become_their_paths():
    one, two = Path("x/a/run"), Path("y/b/run")
    assert distinguished(["dc", "dc", "plain"], [one, two, one]) == ["x/a/run", "y/b/run", "plain"]
    assert distinguished(["dc", "dc:aux"], [one, one]) == ["dc", "dc:aux"]
    assert distinguished(["dc", "dc"], [one, one]) == ["dc", "dc"], "one run twice keeps its name"


def test_the_commit_of_a_checkout_alone(tmp_path):
    """Not of a repository that has the environment of an installed package in it."""

    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "installed").mkdir()
    (tmp_path / "file").touch()
    for words in (["init"], ["add", "file"], ["commit", "-m", "One"], ["tag", "v1"]):
        git(*words)
    commit = _commit(tmp_path)
    assert commit and re.fullmatch("[0-9a-f]{40}", commit)
    assert _commit(tmp_path / "installed") is None
    (tmp_path / "file").write_text("changed")
    assert _commit(tmp_path) == f"{commit}-dirty"


def test_kept_runs_are_read():
    for path in (ROOT / "examples").glob("**/run.json"):
        record = read_record(path)
        assert record.written_in is None
        for decoding in record.decodings:
            assert decoding.hypotheses_sha256 == sha256(path.parent / decoding.hypotheses), path
