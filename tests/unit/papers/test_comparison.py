"""Measured beside published numbers: only finished runs with the same settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from records import write_record

from dc_nmt_plugin.commands import paper
from dc_nmt_plugin.flags import replaced, typed_flags
from dc_nmt_plugin.papers.comparison import Cell, cells
from dc_nmt_plugin.papers.reader import find_item
from dc_nmt_plugin.papers.selection import baseline
from dc_nmt_plugin.papers.systems import decoding_of
from dc_nmt_plugin.recipes.plan import RunOptions, TrainOptions, plan_training
from dc_nmt_plugin.runs.record import SCHEMA, Data, Decoding, Record, Score, TextFile

TABLE = "thesis, Table 4.6b"
OTHER = "to published: nothing for runs of other settings: "
REFERENCE = "reference.vi"
UPDATES = "--max-update 5000, in the recipe 200000"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def finished(
    row, score, name=TABLE, updates=None, logged=None, beam=6, seed=1, settings=True, **files
):
    """What recipes leave of the run of a row; `files` has other contents, None for none."""
    entry = next(entry for entry in find_item(name).entries if entry.row == row)
    run, training = decoding_of(entry).run(seed), decoding_of(entry).training
    options = RunOptions(training.task, training.arch, seed=seed, name=training.name(seed))
    train = TrainOptions(flags=training.flags, gpus=0)
    words = plan_training(options, train).training.command
    words = replaced(words, "--max-update", str(updates)) if updates else words
    scores = tuple(Score(name, score, "", "") for name in ("sacrebleu", "mteval-v13a"))
    search = {**typed_flags(run.decode), "beam": beam}
    way = Decoding(search=search, scores=scores, updates=logged, kind="raw")
    if "test_vi" in files:
        way = replace(way, hypotheses="test.vi", references=(TextFile(REFERENCE),))
    name = run.folder.name
    record = Record(
        SCHEMA, name, name, Data("en", "vi"), run.recipe, run.arch, seed,
        typed_flags(words[words.index("--user-dir") :]) if settings else {}, decodings=(way,),
    )  # fmt: skip
    write_record(run.record, record)
    texts = {
        "settings.stamp": "1-2\n",
        "training.stamp": "1-2\n",
        **{name.replace("_", "."): text for name, text in files.items()},
    }
    for name, text in texts.items():
        if text is not None:
            (run.folder / name).write_text(text)


def table(capsys, *words):
    assert paper.main(["table", TABLE, "--rows", "Baseline; MS-1", *words]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("other", "note"),
    [
        ({"updates": 5000}, UPDATES),
        ({"beam": 1}, "--beam 1, in the recipe 6"),
        ({"settings": False}, "the settings of the run are unknown"),
    ],
)
def test_a_run_of_other_settings_is_shown_without_a_gap(other, note, capsys, monkeypatch):
    monkeypatch.setattr("dc_nmt_plugin.papers.comparison._tested", lambda *_: None)
    finished("Baseline", 30.00)
    finished("MS-1", 31.00, **other)
    text = table(capsys)
    assert "31.00" in text and "-0.58" in text and "-0.32" not in text
    assert text.count(f"{OTHER}{note}\n") == 1


@pytest.mark.parametrize(
    "state", [{"training_stamp": None}, {"training_stamp": "1-1\n"}, {"logged": 20_000}]
)
def test_a_training_that_goes_on_is_not_done(state):
    finished("MS-1", 31.00, **state)
    (cell,) = cells(find_item(TABLE), ["MS-1"], [1])
    assert cell.ours == () and cell.gap is None


def test_a_curve_says_that_it_is_of_other_settings(capsys):
    finished("f = 3", 25.00, name="dual-context, Figure 3", beam=4, updates=5000)
    assert paper.main(["table", "dual-context, Figure 3", "--plot", "f.svg"]) == 0
    text = capsys.readouterr().out
    assert f"{OTHER}--max-update 5000, in the recipe 160000\n" in text


def test_p_is_of_all_seeds_that_both_have(capsys):
    """A table's difference is their mean; the first seed's p would be that of another one."""
    lines = [f"a b c d e f g h {number}" for number in range(30)]
    good, bad = "\n".join(lines), "\n".join(line.replace("c", "x") for line in lines)
    Path(REFERENCE).write_text(good)
    for seed, ours in ((1, bad), (2, good)):
        finished("Baseline", 80.0, seed=seed, test_vi=bad)
        finished("MS-1", 80.0 if ours == bad else 100.0, seed=seed, test_vi=ours)
    item = find_item(TABLE)
    of = {seeds: cells(item, ["MS-1"], seeds)[0].tested for seeds in ((1,), (2,), (1, 2))}
    assert of[1,].p_value == 1 and of[2,].p_value < 0.05
    # another choice of sentences would give it again, other seeds would not
    assert of[1, 2].sentences_p_value < 0.05 < of[1, 2].p_value
    printed = table(capsys, "--seeds", "1,2")
    assert "over the seeds that both have" in printed and "and between seeds" in printed


def test_speeds_of_two_machines_have_no_gap():
    one = Cell("B0", "", "sacrebleu", published="30.58", ours=(30.0,))
    assert one.gap == pytest.approx(-0.58)
    for measure in ("train-steps", "decode-sentences", "decode-tokens"):
        assert replace(one, measure=measure).gap is None


def test_a_difference_is_to_the_row_it_is_printed_for():
    found = cells(find_item("context-aware, Footnote 1"), (), [1])
    assert found[-1].against == "encoder, deep-global + deep"
    masked = cells(find_item("thesis, Table 3.5"), ["M-10"], [1])
    assert {cell.against for cell in masked} == {"M-10"}
    figure = cells(find_item("thesis, Figure 3.7"), ["M-10, n = 5"], [1])
    assert {cell.against for cell in figure} == {"B0"}
    # a system of another table
    base = baseline(find_item("thesis, Table 5.4b").entries[-1])
    assert (base.arch, base.task) == ("transformer_standard_iwslt", "iwslt14_es_en")
