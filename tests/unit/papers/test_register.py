"""The register of published numbers: complete, consistent in itself, and strict about its files."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.evaluation.metrics import METRICS
from dc_nmt_plugin.papers.reader import read_file
from dc_nmt_plugin.papers.register import DATA, DOCUMENTS, find_item, read_document, read_register
from dc_nmt_plugin.papers.schema import MEASURES, SCORES, STATES, TASKS
from dc_nmt_plugin.recipes.recipe import load

ROOT = Path(__file__).parents[3]
REGISTER = read_register()
ENTRIES = [entry for document in REGISTER for entry in document.entries]


def test_every_document_has_its_file_and_its_citation():
    assert sorted(path.stem for path in DATA.glob("*.yaml")) == sorted(DOCUMENTS)
    bibliography = (ROOT / "REFERENCES.bib").read_text("utf-8")
    for document in REGISTER:
        assert f"{{{document.cites}," in bibliography


# tables, figures, and experiments without a number: what each document has
NUMBERED = {
    "dual-context": (5, 5, 1),
    "context-aware": (3, 5, 2),
    "cross-aggregation": (2, 2, 3),
    # Tables 4.5, 4.6 and 5.4 have a letter
    "thesis": (1 + 5 + 8 + 6 + 2 + 1 + 1, 1 + 6 + 12 + 8 + 5, 3),
    "residual-decoder": (7, 4, 3),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_table_and_figure_is_there(name):
    names = [item.name for item in read_document(name).items]
    kinds = Counter(item.split()[0] for item in names)
    tables, figures = kinds.pop("Table"), kinds.pop("Figure")
    assert (tables, figures, sum(kinds.values())) == NUMBERED[name]


def test_figures_are_numbered_without_gaps():
    for name in DOCUMENTS:
        names = {re.sub(r"[a-c]$", "", item.name) for item in read_document(name).items}
        for kind in ("Table", "Figure"):
            numbers = [n.split()[1] for n in names if n.startswith(kind)]
            for number in numbers:
                *chapter, last = number.split(".")
                for before in range(1, int(last)):
                    assert f"{kind} {'.'.join([*chapter, str(before)])}" in names


# rows of the project's map of the papers
PARTS = {
    "dual-context": 41,
    "context-aware": 35,
    "cross-aggregation": 14,
    "thesis": 183,
    "residual-decoder": 60,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_parts_cover_every_entry_and_are_called_once(name):
    document = read_document(name)
    parts = [part for item in document.items for part in item.parts]
    assert len(parts) >= PARTS[name]
    for item in document.items:
        names = [part.name for part in item.parts]
        assert len(set(names)) == len(names), item.name
        assert {id(e) for part in item.parts for e in part.entries} == set(map(id, item.entries))
        assert bool(item.parts) is (item.state.kind != "drawing"), item.name


def test_states_say_what_is_missing():
    for document in REGISTER:
        for item in document.items:
            for state in (item.state, *(part.state for part in item.parts)):
                assert state.kind in STATES
                assert bool(state.missing) is (state.kind == "needs")
                assert not state.missing or state.missing.endswith("."), state.missing


def test_printed_differences_are_those_of_the_values():
    for document in REGISTER:
        for item in document.items:
            by_cell = {(entry.row, entry.column): entry for entry in item.entries}
            for entry in item.entries:
                base = by_cell.get((entry.against, entry.column))
                if None in (entry.difference, entry.value) or base is None or base.value is None:
                    continue
                agrees = entry.value - base.value == entry.difference
                assert agrees is ("above 30.58" not in entry.note), entry.place


def test_averages_of_probing_tasks_are_the_printed_ones():
    sizes = {"Surface": 2, "Syntactic": 3, "Semantic": 5}
    for name, table in (("dual-context", "4"), ("thesis", "4.8"), ("thesis", "5.5")):
        item = find_item(f"{name}, Table {table}")
        for column in item.columns:
            own = [entry for entry in item.entries if entry.column == column]
            for row, entry in enumerate(own):
                size = sizes.get(entry.of)
                if size:
                    mean = sum(e.value for e in own[row - size : row]) / size
                    assert abs(mean - entry.value) <= Decimal("0.011"), (
                        item.name,
                        entry.row,
                        column,
                    )


def test_percentages_of_human_rankings_add_up():
    for row in ("Self-attentive vs. Baseline", "Self-attentive vs. Mean"):
        own = [e for e in find_item("residual-decoder, Table 5").entries if e.row == row]
        for start in (0, 3, 6):
            assert sum(entry.value for entry in own[start : start + 3]) == 100


def test_tables_of_the_paper_and_of_the_thesis_agree():
    for paper, thesis in (
        ("Table 2", "Table 5.3"),
        ("Table 4", "Table 5.5"),
        ("Table 5", "Table 5.6"),
    ):
        first, second = find_item(f"dual-context, {paper}"), find_item(f"thesis, {thesis}")
        assert [e.value for e in first.entries] == [e.value for e in second.entries]


def test_names_are_those_of_recipes_and_metrics():
    assert set(SCORES) <= set(METRICS)
    for task, directions in TASKS.items():
        if task != "wikipedia":  # text of one language
            assert tuple(load(task).directions) == directions


@pytest.mark.parametrize(
    "name", ["thesis, Table 3.4", "thesis, table 3.4", "thesis,Tab. 3.4", "thesis, tab 3.4"]
)
def test_items_are_found_by_short_names(name):
    assert find_item(name).name == "Table 3.4"


def test_unknown_items_get_the_nearest():
    with pytest.raises(UserError, match=r"Did you mean 'Table 3\.4"):
        find_item("thesis, Table 3.44")
    with pytest.raises(UserError, match="Did you mean 'thesis'"):
        find_item("theses, Table 3.4")


FILE = """
title: A paper
cites: a2020paper
training_settings:
  own: {source: section 1, fixed: {tokens: 4960, lr_scheduler: cosine}}
tasks:
  en-de: {task: wmt14_en_de, direction: en-de, subset: test, training: own, score: multi-bleu,
          decoding: {beam: 4}}
systems:
  Base: {arch: transformer_standard}
  Ours: {arch: transformer_dc, flags: {dc_kernel_size: 3}}
items:
  - name: Table 1
    title: results
    place: page 1
    state: run
    on: en-de
    baseline: base
    columns: {BLEU: {}}
    rows:
      - {label: base, system: Base, value: 28.30}
      - {label: ours, system: Ours, value: {value: 28.80, difference: +0.50, p: 0.05}}
"""


def read(tmp_path, text):
    path = tmp_path / "paper.yaml"
    path.write_text(text, encoding="utf-8")
    return read_file(path)


def test_reads_everything_that_an_entry_fixes(tmp_path):
    base, ours = read(tmp_path, FILE).entries
    assert str(base.value) == "28.30"  # with its decimals
    assert (base.against, ours.against) == ("", "base")
    assert (ours.difference, ours.p) == (Decimal("0.50"), Decimal("0.05"))
    assert (ours.system.arch, ours.system.flags) == ("transformer_dc", {"dc_kernel_size": 3})
    assert (ours.task, ours.direction, ours.subset) == ("wmt14_en_de", "en-de", "test")
    assert ours.training.fixed == {"tokens": 4960, "lr_scheduler": "cosine"}
    assert (ours.decoding, ours.part, ours.measure) == ({"beam": 4}, "main", "multi-bleu")
    assert ours.place == "paper, Table 1, ours"


BAD = {
    "an unknown key": (
        "place: page 1",
        "plaice: page 1",
        "15: items.plaice: .*mean 'place'",
    ),
    "a missing field": (
        "    place: page 1\n",
        "",
        "yaml, line 13: items.place: is missing",
    ),
    "an unknown measure": (
        "{BLEU: {}}",
        "{BLEU: {measure: blue}}",
        r"line 19: items.columns.BLEU.measure: 'blue'",
    ),
    "an unknown architecture": (
        "transformer_dc,",
        "transformer_cd,",
        "line 22: system Ours: .*'transformer_cd'",
    ),
    "an unknown task": ("wmt14_en_de,", "wmt15_en_de,", "task: 'wmt15_en_de' is not one of"),
    "an unknown direction": ("direction: en-de", "direction: de-en", "direction: 'de-en'"),
    "an unknown setting": (
        "dc_kernel_size",
        "kernel_size",
        "22: system Ours: .*'kernel_size'",
    ),
    "a setting that cannot be": ("size: 3", "size: 0", "dc-kernel-size: 0 is not at least 1"),
    "a setting of another type": ("size: 3", "size: three", "'three' is no int"),
    "an unknown training": ("training: own", "training: their", "training: 'their'"),
    "an unknown training setting": ("tokens: 4960", "token: 4960", "fixed: setting: 'token'"),
    "an unknown system": ("system: Ours", "system: Theirs", "line 22: system: 'Theirs'"),
    "no number": ("value: 28.30", "value: 28.3o", "'28.3o' is no number"),
    "no state": ("    state: run\n", "", "line 13: one of state, needs"),
    "two states": ("state: run", "state: run\n    needs: data.", "only one of them"),
    "a row twice": ("label: ours", "label: base", "line 13: row 'base' occurs twice"),
    "a key twice": ("page 1", "page 1\n    place: page 2", "'place' occurs twice"),
    "an unknown baseline": ("baseline: base", "baseline: bass", "baseline: 'bass'"),
    "no training": ("training: own, ", "", "training is missing; multi-bleu depends on it"),
    "an empty cell": ("value: 28.30", "value: {note: why}", "neither value, difference nor text"),
    "no probability": ("p: 0.05", "p: 5", "p: 5 is no probability"),
    "no decoder": ("value: 28.30", "part: second, value: 28.30", "part: 'second' is neither"),
    "no YAML": ("rows:", "rows: [", "paper.yaml: "),
}


@pytest.mark.parametrize(("old", "new", "message"), BAD.values(), ids=BAD)
def test_refuses_what_it_does_not_know(tmp_path, old, new, message):
    assert old in FILE
    with pytest.raises(UserError) as error:
        read(tmp_path, FILE.replace(old, new, 1))
    text = str(error.value)
    assert re.search(message, text) and "paper.yaml" in text and "\n" not in text


def test_measures_of_runs_say_what_they_depend_on():
    for entry in ENTRIES:
        if not entry.system.other and MEASURES[entry.measure].fixed_by:
            assert entry.task and entry.direction and entry.system.arch, entry.place
