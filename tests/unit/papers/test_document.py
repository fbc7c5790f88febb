"""The published tables and figures: complete, consistent in themselves, and made of known names."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.flags import as_flags
from dc_nmt_plugin.laboratory.evaluation.metrics import METRICS
from dc_nmt_plugin.laboratory.recipes.recipe import load, tasks
from dc_nmt_plugin.laboratory.recipes.settings import settings_of
from dc_nmt_plugin.models.options import defaults
from dc_nmt_plugin.models.presets import architectures
from dc_nmt_plugin.study.papers.document import SCORES
from dc_nmt_plugin.study.papers.parameters import model_settings
from dc_nmt_plugin.study.papers.reader import (
    DOCUMENTS,
    find_item,
    read_document,
    read_documents,
)

ROOT = Path(__file__).parents[3]
ENTRIES = [entry for document in read_documents() for entry in document.entries]
ITEMS = [item for document in read_documents() for item in document.items]
OURS = [entry for entry in ENTRIES if not entry.other]
MEASURES = {
    *(*SCORES, "bleu", "params", "train-steps", "train-words", "decode-sentences"),
    *("decode-tokens", "perplexity", "accuracy", "sentences", "length", "share", "ranking"),
    *("precision", "divergence", "dependency", "gate", "distance", "entropy", "attention"),
    *("significance", "text", "setting"),
}
# tables, figures, and experiments without a number: what each document has
NUMBERED = {
    "dual-context": (5, 5, 1),
    "context-aware": (3, 5, 2),
    "cross-aggregation": (2, 2, 3),
    # Tables 4.5, 4.6 and 5.4 have a letter
    "thesis": (1 + 5 + 8 + 6 + 2 + 1 + 1, 1 + 6 + 12 + 8 + 5, 3),
    "residual-decoder": (7, 4, 3),
}

COUNTS = {
    "dual-context": 172,
    "context-aware": 89,
    "cross-aggregation": 31,
    "thesis": 818,
    "residual-decoder": 129,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_table_and_figure_is_there(name):
    document = read_document(name)
    assert f"{{{document.cites}," in (ROOT / "REFERENCES.bib").read_text("utf-8")
    names = [item.name for item in document.items]
    kinds = Counter(item.split()[0] for item in names)
    tables, figures = kinds.pop("Table"), kinds.pop("Figure")
    assert (tables, figures, sum(kinds.values())) == NUMBERED[name]
    plain = {re.sub(r"[a-c]$", "", item) for item in names}
    for kind in ("Table", "Figure"):
        for number in (n.split()[1] for n in plain if n.startswith(kind)):
            *chapter, last = number.split(".")
            for before in range(1, int(last)):
                assert f"{kind} {'.'.join([*chapter, str(before)])}" in plain


def test_every_entry_stands_once_and_has_a_state():
    numbers = {document.name: len(document.entries) for document in read_documents()}
    assert numbers == COUNTS
    for item in ITEMS:
        cells = [entry.cell for entry in item.entries]
        assert len(set(cells)) == len(cells), item.full_name
        assert bool(cells) is not item.reproducible.startswith("a drawing")
    kinds = Counter(entry.reproducible.split()[0] for entry in ENTRIES)
    assert kinds == {"yes": 853, "needs": 172, "settings,": 134, "reported": 80}


def test_every_entry_is_made_of_known_names():
    trainings = {entry.training for entry in OURS}
    for entry in ENTRIES:
        item = next(i for i in ITEMS if (i.document, i.name) == (entry.document, entry.item))
        place = (entry.document, entry.item, entry.row, entry.column)
        assert entry.measure in MEASURES, place
        # a number, a difference or a text, or the reason why there is none
        assert (entry.value, entry.difference) != (None, None) or entry.text or entry.absent, place
        assert entry.p is None or 0 < entry.p < 1, place
        assert re.fullmatch(r"main|aux:\d+", entry.part), place
        systems = {e.system for e in ENTRIES if e.document == entry.document}
        assert entry.against in {"", *(row.label for row in item.rows), *systems}, place
    assert set(SCORES) <= set(METRICS) and "" in trainings
    assert {entry.task for entry in OURS} - {""} - set(tasks()) == {"wikipedia"}
    for entry in OURS:
        if entry.training:
            assert settings_of(load(entry.task), entry.arch, like=entry.training)


def test_flags_are_those_of_the_architecture_and_change_the_model():
    """A flag with the architecture's own value would be a run of another name."""
    for arch, words in {(entry.arch, tuple(as_flags(entry.flags))) for entry in OURS}:
        architecture = architectures()[arch]
        preset = {**defaults(architecture.config), **architecture.settings}
        for name, value in model_settings(arch, words).items():
            own = preset["encoder_layers"] if name == "source_layers" else preset[name]
            assert value != own, (arch, name)


def test_printed_differences_are_those_of_the_values():
    compared = 0
    for item in ITEMS:
        by_cell = {entry.cell: entry for entry in item.entries}
        for entry in item.entries:
            base = by_cell.get((entry.against, entry.column))
            if None in (entry.difference, entry.value) or base is None or base.value is None:
                continue
            agrees = entry.value - base.value == entry.difference
            assert agrees is ("above 30.58" not in entry.note), entry.cell
            compared += 1
    assert compared == 88


def test_items_are_found_by_short_names_and_unknown_ones_get_the_nearest():
    for name in ("thesis, Table 3.4", "thesis, table 3.4", "thesis,Tab. 3.4", "thesis, tab 3.4"):
        assert find_item(name).name == "Table 3.4"
    with pytest.raises(UserError, match=r"Did you mean 'Table 3\.4"):
        find_item("thesis, Table 3.44")
    with pytest.raises(UserError, match="Did you mean 'thesis'"):
        find_item("theses, Table 3.4")
