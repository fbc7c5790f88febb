"""Every row of the papers: its plan ends in what the row shows, or it says what is missing."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from dc_nmt_plugin.commands import check_text, params, translate
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.papers.register import find_item, read_register
from dc_nmt_plugin.reproduction.comparison import Cell
from dc_nmt_plugin.reproduction.curve import series
from dc_nmt_plugin.reproduction.jobs import Options
from dc_nmt_plugin.reproduction.obstacles import FILES, PEOPLE
from dc_nmt_plugin.reproduction.outcome import lacking
from dc_nmt_plugin.reproduction.plan import plan
from dc_nmt_plugin.reproduction.selection import entries_shown
from dc_nmt_plugin.reproduction.state import state_of

OUT = Path("out")
GIVEN = Options(any_counts=True, files=dict.fromkeys(FILES, "FILE"))
ITEMS = [item for document in read_register() for item in document.items if item.parts]
ROWS = [(item, part) for item in ITEMS for part in item.parts]


def ours(item, part):
    return [entry for entry in entries_shown(item, part) if not entry.system.other]


@cache
def runnable():
    return [
        (item, part, plan(item, [part.name], GIVEN, OUT))
        for item, part in ROWS
        if state_of(item, part, GIVEN).kind == "run"
    ]


def last(name, *rows, **options):
    """The words of the last job of a plan, and of all."""
    jobs = plan(find_item(name), rows, replace(GIVEN, **options), OUT)
    return f"{shlex.join(jobs[-1].words)} ", jobs


def test_the_rows_are_those_of_the_map():
    assert len(ROWS) == 384
    count = {}
    for item, part in ROWS:
        kind = state_of(item, part).kind
        count[kind] = count.get(kind, 0) + 1
    assert count == {"run": 315, "data": 29, "needs": 40}


def test_the_plan_of_every_row_ends_in_what_the_row_shows():
    problems = [
        f"{item.full_name}, {part.name}: {problem}"
        for item, part, jobs in runnable()
        if (problem := lacking(item, part, ours(item, part), jobs))
    ]
    assert problems == []


def test_the_rule_of_every_row_sees_that_its_last_commands_are_missing():
    passed = [
        f"{item.full_name}, {part.name}"
        for item, part, jobs in runnable()
        if not lacking(
            item, part, ours(item, part),
            [job for job in jobs if job.kind in ("text", "training")],
        )
    ]  # fmt: skip
    assert passed == []


def test_a_row_that_needs_a_file_says_which_and_where_from_until_it_is_given():
    waiting = [(item, part) for item, part in ROWS if part.by in FILES]
    assert {part.by for _, part in waiting} == set(FILES)
    for item, part in waiting:
        made = state_of(item, part)
        assert made.kind == "needs" and "https://" in made.how and "(--" in made.how
        with pytest.raises(UserError, match=r"cannot be run: needs .*https://"):
            plan(item, [part.name], Options(any_counts=True), OUT)
        assert state_of(item, part, GIVEN).kind == "run"


def test_text_that_prepare_refuses_is_needed_until_any_counts():
    for item, part in ROWS:
        made, given = state_of(item, part), state_of(item, part, GIVEN)
        trained = [e for e in ours(item, part) if e.measure not in ("params", "setting")]
        if any(e.task in ("wmt17_zh_en", "un_en_zh") for e in trained) and part.entries:
            assert made.kind in ("needs", "data"), (item.full_name, part.name)
        if "--any-counts" in made.how:
            assert given.kind == "run" or part.by in PEOPLE
    assert state_of(*row("context-aware, Table 2", "# Para.")).kind == "run"  # built, not trained


def row(name, part_name):
    item = find_item(name)
    return item, next(part for part in item.parts if part.name == part_name)


def test_settings_are_data():
    for name in ("thesis, Table 3.1", "thesis, Equation 4.1", "cross-aggregation, Algorithm 1"):
        assert {state_of(find_item(name), part).kind for part in find_item(name).parts} == {"data"}


# figure → what its last command has
PUBLISHED = {
    "thesis, Figure 3.6": "--unit pieces --edges 10,20,30,40,50",
    "thesis, Figure 5.5": "--unit pieces --edges 10,20,30,40,50",
    "dual-context, Figure 5": "--unit pieces --edges 10,20,30,40,50",
    "context-aware, Figure 5": "--unit words --groups 10",
    "thesis, Figure 4.6": "--unit words --edges 11,21,31,41",
    "thesis, Figure 4.5": "check-text --lengths 11,21,31,41 runs/iwslt15_en_vi/data/raw/tokenised/",
    "thesis, Figure 3.8": "--sentences 1500",
    "thesis, Figure 3.9": "--sentences 1500",
    "thesis, Figure 3.10": "--sentences 1500",
    "thesis, Figure 3.11": "--sentences 1500",
    "thesis, Figure 3.12": "--sentences 1500",
    "thesis, Figure 4.7": "--sentences 1000",
    "thesis, Figure 4.8": "--index 261",
    "thesis, Table 4.8": "probe runs/iwslt15_en_vi/",
    "thesis, Table 5.5": "--tasks FILE --setting dual-context",
    "dual-context, Table 4": "--tasks FILE --setting dual-context",
    "residual-decoder, Figure 2": "--longest 50",
    "residual-decoder, 8.2 ParsEval": "--trees FILE",
    "residual-decoder, Table 3": "--t-test",
    "residual-decoder, Table 6": "params --item 'residual-decoder, Table 6'",
    "residual-decoder, Table 7": "--sentence 'Otras personas pueden tener niños.'",
    "thesis, Table 4.5a": "--sentence 'The passion that the person has",
    "cross-aggregation, Iterations": "analyze routing",
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_last_command_is_as_published(name):
    assert PUBLISHED[name] in last(name)[0]


def test_counting_source_sentences_trains_nothing():
    for name in ("thesis, Figure 3.5", "thesis, Figure 4.5"):
        assert {job.kind for job in last(name)[1]} == {"text", "analysis"}
    counts = [str(job) for job in last("thesis, Figure 3.5")[1][1:]]
    assert [text.split()[3] for text in counts] == ["10,20,30,40,50", "31"]
    assert all("/data/bpe/test.en" in text for text in counts)


def test_every_seed_is_analysed():
    jobs = last("dual-context, Figure 4", seeds=(1, 2, 3))[1]
    assert sum(job.kind == "training" for job in jobs) == 21
    analysed = [job for job in jobs if job.kind == "analysis"]
    assert [str(job.output) for job in analysed] == [f"out/divergence-s{n}.txt" for n in (1, 2, 3)]
    assert all(str(job).count(f"-s{n} ") == 8 for n, job in enumerate(analysed, start=1))


def test_figure_3_7_begins_at_the_transformer_and_has_eight_styles():
    figure = find_item("thesis, Figure 3.7")
    entries = entries_shown(figure, figure.parts[0])
    assert {entry.row for entry in entries} >= {"B0", "M-11, n = 6"}
    assert not {"B1", "B2"} & {entry.row for entry in entries}
    assert not any(
        "ffn" in str(job) or "layers 10" in str(job) for job in last(figure.full_name)[1]
    )
    cells = [
        Cell(e.row, e.column, e.measure, str(e.value), None, None, (), None, None, None, "")
        for e in entries
    ]
    setting, curves = series(cells, figure.origin)
    assert setting == "n" and len(curves) == 8
    for points in curves.values():
        assert [x for x, _ in points] == [1, 2, 3, 4, 5, 6] and points[0][1].published == "28.37"


def test_a_sample_leaves_out_numbers_of_sentences_that_it_may_not_have():
    assert "--index" not in last("thesis, Figure 4.8", sample=200)[0]


# -- the commands ------------------------------------------------------------------------------


def test_lines_are_counted_by_length(tmp_path, capsys):
    path = tmp_path / "text"
    path.write_text("a\na b\na b c\na b c d e\n")
    assert check_text.main(["--lengths", "1,2,4", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[2:6]] == [
        ["0", "0", "0.0"], ["1", "1", "25.0"], ["2-3", "2", "50.0"], ["4+", "1", "25.0"],
    ]  # fmt: skip
    assert lines[-1].endswith("4 lines, 1 to 5 words, 2.75 on average")
    with pytest.raises(UserError, match="--lengths: '4,2' is not a rising list"):
        check_text.main(["--lengths", "4,2", str(path)])
    with pytest.raises(UserError, match="--lengths: goes with one FILE"):
        check_text.main(["--lengths", "4", str(path), str(path)])


def test_counts_of_one_table(capsys):
    assert params.main(["--item", "thesis, Table 4.6a"]) == 0
    out = capsys.readouterr().out
    assert out.count("ok") == 7 and "Table 3.2" not in out
    with pytest.raises(UserError, match=r"--item: thesis, Table 4\.7 has no parameter counts"):
        params.main(["--item", "thesis, Table 4.7"])
    with pytest.raises(UserError, match="--item: prints the counts of a table"):
        params.main(["transformer_dc", "--item", "thesis, Table 4.6a"])


def test_a_sentence_stands_for_the_file(tmp_path):
    with pytest.raises(UserError, match="--sentence: stands for FILE, which is text"):
        translate.main([str(tmp_path), "text", "--sentence", "a b"])
