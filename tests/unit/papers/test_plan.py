"""Every row that is reproducible has a plan that ends in what the row shows; others say why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dc_nmt_plugin import cli
from dc_nmt_plugin.laboratory.commands import evaluate
from dc_nmt_plugin.laboratory.commands.parser import values_of
from dc_nmt_plugin.laboratory.recipes.planned import Experiment
from dc_nmt_plugin.laboratory.recipes.recipe import load
from dc_nmt_plugin.laboratory.recipes.scoring import plan_decoding
from dc_nmt_plugin.laboratory.steps import command_text
from dc_nmt_plugin.study.papers.plan import Options, added_baselines, plan, training_runs
from dc_nmt_plugin.study.papers.reader import find_item, read_documents
from dc_nmt_plugin.study.papers.selection import NEEDED, is_open, left_out, runs_of
from dc_nmt_plugin.study.papers.systems import (
    MODELS,
    counted_parameters,
    has_run,
    size_of,
    translation_of,
)

OUT = Path("out")
GIVEN = Options(any_counts=True, probing=Path("FILE"), trees=Path("FILE"))
ITEMS = [item for document in read_documents() for item in document.items]


def grid(name, *rows, options=GIVEN, **more):
    return plan(find_item(name), rows, replace(options, **more), OUT)


def lines_of(planned):
    """All command lines of a plan but the table."""
    return [command.line for command in replace(planned, table=None).commands]


def last(name, *rows, **more):
    """The last command of a plan."""
    return f"{command_text(lines_of(grid(name, *rows, **more))[-1].words)} "


def trained(name, *rows):
    return [str(run) for run in training_runs(find_item(name), rows, GIVEN)]


def command_of(entry):
    """What the words of a job that shows an entry begin with, and a word that they have."""
    translation = translation_of(entry)
    folder = str(translation.decoding(1).run.folder)
    command, *rest = entry.by.split()
    if command == "analyze":
        return ("analyze", rest[0]), folder
    if command in ("probe", "translate"):
        return (command,), folder
    return ("evaluate", translation.training.task, translation.training.arch), ""


def evaluated(line):
    """The run and the flags of an evaluation, as its command reads them."""
    args, flags = evaluate.parser().parse_with_flags(line.words[2:])
    return plan_decoding(values_of(Experiment, args)), tuple(flags)


def test_every_reproducible_number_has_a_plan_that_ends_in_it():
    for item in ITEMS:
        own = [entry for entry in item.entries if entry.is_of_a_run and is_open(entry, NEEDED)]
        found = lines_of(plan(item, (), GIVEN, OUT)) if own else []
        evaluations = [evaluated(line) for line in found if line.words[1] == "evaluate"]
        for entry in own:
            if entry.measure == "params":
                words = ("dc-nmt", "paper", "parameters", "--item", item.full_name)
                assert any(line.words == words for line in found)
            elif has_run(entry):
                translation = translation_of(entry)
                assert (translation.decoding(1), translation.flags) in evaluations
                assert ("--decode-with" in translation.flags) == (entry.part != "main")
                start, folder = command_of(entry)
                shown = [
                    command_text(line.words)
                    for line in found
                    if line.words[1 : 1 + len(start)] == start
                ]
                assert any(folder in text for text in shown), (item.full_name, entry.cell)
            else:
                assert entry.training == "" and entry.reproducible != "yes"


def test_every_other_number_is_left_out_with_its_reason():
    for item in ITEMS:
        for entry in item.entries:
            reason = entry.reproducible
            lacks = load(entry.task).task.lacks if has_run(entry) else ""
            if lacks and entry.measure != "params" and "people" not in reason:
                assert reason == f"needs {lacks}."  # text that `dc-nmt prepare` refuses
            if reason == "yes" or not entry.is_of_a_run:
                continue
            assert reason in left_out(item, [entry.row], ()).values()
            for flag in NEEDED:
                still = reason in left_out(item, [entry.row], [flag]).values()
                assert still is (flag not in reason)


def test_every_training_run_has_a_counted_model():
    """`scripts/count_models.py` writes the file."""
    needed = {str(training) for item in ITEMS for training in runs_of(item)}
    assert needed == set(counted_parameters()), MODELS
    trained = [e for item in ITEMS for e in item.entries if has_run(e)]
    assert {str(translation_of(e).training) for e in trained if e.measure != "params"} <= needed


def test_a_row_and_a_column_name_one_cell():
    runs = trained("dual-context, Table 2", "En→Vi", "Enc-DC")
    assert runs == ["iwslt15_en_vi transformer_dc_iwslt_ff512"]
    outputs = {line.output for line in grid("thesis, Figure 4.8", seeds=(1, 2)).analyses}
    assert len(outputs - {""}) == 2
    # a row with a difference needs its baseline too
    runs = [run.split()[1] for run in trained("thesis, Table 4.6b", "MS-1")]
    assert runs == ["transformer_standard_iwslt", "transformer_ms_aux_iwslt"]
    item = find_item("thesis, Table 4.6b")
    assert added_baselines(item, ["MS-1"], ()) == {"Baseline": ["MS-1"]}
    assert added_baselines(item, ["MS-1", "Baseline"], ()) == {}
    masked = added_baselines(find_item("thesis, Table 3.5"), ["M-10"], ())
    assert masked == {"M-10 as it is": ["M-10"]}


def test_the_commands_understand_their_words(cwd):
    for name in ("thesis, Table 4.6b", "context-aware, Table 1", "residual-decoder, Table 3"):
        planned = grid(name)
        for line in lines_of(planned):
            if line.words[1] in ("prepare", "train", "evaluate"):
                words = [line.words[1], "--dry-run", *line.words[2:]]
                assert cli.main(words) == 0, command_text(words)
        assert not any(run.is_finished() for run in planned.runs)
    assert not list(cwd.iterdir())


def test_sizes_of_trainings_add_up():
    runs = runs_of(find_item("dual-context, Table 1"))
    assert size_of(runs) == "4 training runs, 640k updates, 3.17G tokens, up to 86.4M parameters"
    assert size_of(runs[:1], 10).startswith("1 training run, 10 updates, 49.6k tokens, 61.2M")


# figure → what its last command has
PUBLISHED = {
    "thesis, Figure 3.6": "--unit pieces --edges 10,20,30,40,50 ",
    "dual-context, Figure 5": "--reference runs/wmt14_en_de/data/raw/test.de --tokenizer moses-a "
    "--beam 4 --lenpen 0.6 --length-penalty wu ",
    "context-aware, Figure 5": "--unit words --edges 5,10,15,20,25,30,35,40,45 --beam 4 ",
    "thesis, Figure 4.6": "--unit words --edges 11,21,31,41 "
    "--reference runs/iwslt15_en_vi/data/raw/test.vi --tokenizer moses --beam 6 ",
    "thesis, Figure 4.5": "analyze lengths runs/iwslt15_en_vi/",
    "thesis, Figure 4.8": "--index 261 ",
    "thesis, Table 5.5": "--tasks FILE --setting dual-context ",
    "residual-decoder, 8.2 ParsEval": "--trees FILE ",
    "residual-decoder, Table 3": "--metric mteval-v13a --t-test ",
    "residual-decoder, Table 6": "paper parameters --item 'residual-decoder, Table 6' ",
    "residual-decoder, Table 7": "--sentence 'Otras personas pueden tener niños.' ",
    "thesis, Table 4.5a": "--sentence 'The passion that the person has",
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_last_command_is_as_published(name):
    assert PUBLISHED[name] in last(name)


def test_a_t_test_and_another_set_are_planned_where_they_are_published():
    words = [line.words for line in lines_of(grid("context-aware, Table 1"))]
    assert not any("--t-test" in command or "--subset" in command for command in words)
    words = [line.words for line in lines_of(grid("residual-decoder, Table 3"))]
    assert sum("--t-test" in command for command in words) == 3
    assert any("newstest2015" in command for command in words if command[1] == "evaluate")
