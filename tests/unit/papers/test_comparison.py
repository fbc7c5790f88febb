"""Measured beside published numbers: only finished runs with the same settings."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import pytest
from records import tokens_of, write_record

from dc_nmt_plugin.flags import recorded_flags, replaced, typed_flags
from dc_nmt_plugin.laboratory.finding import Run
from dc_nmt_plugin.laboratory.recipes.plan import plan_training
from dc_nmt_plugin.laboratory.recipes.planned import Experiment, TrainOptions
from dc_nmt_plugin.runs.record import SCHEMA, Data, Decoding, Record, Score, Training
from dc_nmt_plugin.study.commands import paper
from dc_nmt_plugin.study.papers.comparison import ComparedNumber, _number, compared_numbers
from dc_nmt_plugin.study.papers.reader import find_item
from dc_nmt_plugin.study.papers.selection import baseline
from dc_nmt_plugin.study.papers.systems import translation_of

TABLE = "thesis, Table 4.6b"
OTHER = "to published: nothing for runs of other settings: "
UPDATES = "--max-update 5000, in the recipe 200000"


pytestmark = pytest.mark.usefixtures("cwd")


def finished(
    row, score, name=TABLE, updates=None, logged=None, beam=6, seed=1, settings=True, trained=None
):
    """What recipes leave of the run of a row, after so many updates, or all."""
    entry = next(entry for entry in find_item(name).entries if entry.row == row)
    decoding, training = translation_of(entry).decoding(seed), translation_of(entry).training
    run = decoding.run
    options = Experiment(training.task, training.arch, seed=seed, name=training.name(seed))
    train = TrainOptions(flags=training.flags, gpus=0)
    words = plan_training(options, train).words
    words = replaced(words, "--max-update", str(updates)) if updates else words
    scores = tuple(Score(name, score, "", "") for name in ("sacrebleu", "mteval-v13a"))
    search = {**typed_flags(decoding.search), "beam": beam}
    way = Decoding(search=search, scores=scores, updates=logged, kind="raw")
    name = run.folder.name
    flags = recorded_flags(words[words.index("--user-dir") :])
    made = trained or flags["max-update"]
    record = Record(
        schema=SCHEMA,
        name=name,
        system=name,
        data=Data("en", "vi"),
        task=run.folder.parent.name,
        architecture=run.arch,
        seed=seed,
        settings=flags if settings else {},
        training=Training(tokens=tokens_of(flags), updates=made),
        decodings=(way,),
    )
    write_record(run.folder / "run.json", record)
    (run.folder / "train.log").write_text("" if trained else "done training in 9.0 seconds\n")
    return Run.read(run.folder)


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
def test_a_run_of_other_settings_is_shown_without_a_gap(other, note, capsys):
    finished("Baseline", 30.90)
    finished("MS-1", 31.00, **other)
    text = table(capsys)
    assert "31.00" in text and "+0.32" in text and "-0.32" not in text
    assert text.count(f"{OTHER}{note}\n") == 1


@pytest.mark.parametrize("state", [{"trained": 190_000}, {"logged": 190_000}])
def test_a_training_that_goes_on_is_not_done(state):
    finished("MS-1", 31.00, **state)
    (cell,) = compared_numbers(find_item(TABLE), ["MS-1"], [1])
    assert cell.ours == () and cell.gap is None


def test_a_difference_is_over_the_seeds_that_both_have(capsys):
    for seed, base, ours in ((1, 30.0, 31.0), (2, 30.5, 32.5)):
        finished("Baseline", base, seed=seed)
        finished("MS-1", ours, seed=seed)
    finished("MS-1", 50.0, seed=3)
    (cell,) = compared_numbers(find_item(TABLE), ["MS-1"], (1, 2, 3))
    assert (cell.ours, cell.difference) == ((31.0, 32.5, 50.0), 1.5)
    assert "over the seeds that both have" in table(capsys, "--seeds", "1,2")
    latex = table(capsys, "--seeds", "1,2", "--latex", "--columns", "row,measured")
    assert latex.startswith(f"% {TABLE}: ") and r"MS-1 & 31.75 \\" in " ".join(latex.split())
    _, row = json.loads(table(capsys, "--seeds", "1,2", "--json"))
    assert (row["mean"], row["deviation"]) == (31.75, pytest.approx(1.0607, abs=1e-4))


def test_speeds_of_two_machines_have_no_gap():
    one = ComparedNumber("B0", "", "sacrebleu", published="30.58", ours=(30.0,))
    assert one.gap == pytest.approx(-0.58)
    for measure in ("train-steps", "decode-sentences", "decode-tokens"):
        assert replace(one, measure=measure).gap is None
    run = finished("MS-1", 31.0)
    training = replace(run.record.training, updates=600, seconds=300.0, parameters=2_500_000)
    decoding = replace(run.decoding, sentences_per_second=3.0, tokens_per_second=40.0)
    run = Run(run.path, replace(run.record, training=training), decoding)
    measures = ("params", "train-steps", "decode-sentences", "decode-tokens")
    assert [_number(run, measure) for measure in measures] == [2.5, 2.0, 3.0, 40.0]


def test_a_difference_is_to_the_row_it_is_printed_for():
    footnote = find_item("context-aware, Footnote 1").entries[-1]
    assert baseline(footnote).row == "encoder, deep-global + deep"
    masked = next(e for e in find_item("thesis, Table 3.5").entries if e.row == "M-10")
    assert baseline(masked) == msgspec.structs.replace(masked, decoding={})
    # a system of another table
    base = baseline(find_item("thesis, Table 5.4b").entries[-1])
    assert (base.arch, base.task) == ("transformer_standard_iwslt", "iwslt14_es_en")
