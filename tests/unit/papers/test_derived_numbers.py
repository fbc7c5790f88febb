"""Numbers of the documents' text: those that follow from cells, and sizes of sets."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pytest

from dc_nmt_plugin.commands import paper
from dc_nmt_plugin.papers.reader import find_item, read_document, read_documents

# typed again from the documents
PRINTED = {
    "dual-context": "12.7 25 0.25",
    "context-aware": "",
    "cross-aggregation": "0.12",
    "thesis": "19.2 28.77 7.13 29.04 7.41 23.7 7.8 0.77 0.94 1.06 1.42 65 41.37 17.81 0.25",
    "residual-decoder": "",
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_values_are_those_printed(name):
    assert " ".join(str(each.value) for each in read_document(name).derived) == PRINTED[name]


def test_a_value_follows_from_its_cells_or_says_why_not():
    found = [each for document in read_documents() for each in document.derived]
    others = {each.value: each for each in found if not each.agrees}
    assert set(map(str, others)) == {"0.77", "65", "17.81"}
    assert all(each.note for each in others.values())
    assert round(others[Decimal("17.81")].computed, 2) == 17.53


def test_cells_are_rounded_too():
    """From 3.39 and 3.65, 7.12; from 3.385 and 3.655, 7.39."""
    found = {str(each.value): each for each in read_document("thesis").derived}
    assert found["7.13"].agrees and round(found["7.13"].computed, 2) == 7.12
    for value, agrees in (("7.41", False), ("7", True)):
        other = msgspec.structs.replace(found["7.13"], value=Decimal(value))
        assert other.agrees is agrees


def test_an_item_shows_the_numbers_that_follow_from_it(capsys):
    assert paper.main(["show", "thesis, Table 4.4"]) == 0
    assert (
        "section 4.4 prints 0.77 from 29.08 (Multi-Layer Attention (M-10)) and 28.37 "
        "(Transformer), which give 0.71: Table 4.4 prints +0.71; "
        "+0.77 is M-10's gain on Es→En, Table 3.3"
    ) in capsys.readouterr().out


def test_sizes_of_sets_are_values():
    thesis = {entry.cell: str(entry.value) for entry in find_item("thesis, Settings").entries}
    assert thesis["Es→En", "validation pairs"] == "5593"
    assert thesis["En→Vi", "test pairs"] == "1268"
    lengths = {e.row: str(e.value) for e in find_item("thesis, Figure 4.5").entries}
    assert [lengths[row] for row in ("shortest", "longest", "mean length")] == ["2", "102", "21.08"]
    texts = {entry.cell: entry.text for entry in find_item("residual-decoder, Settings").entries}
    assert texts["En-Zh", "test pairs"] == "2K" and texts["Es-En", "training time"] == "7-12 days"


def test_baselines_of_two_widths_are_noted():
    for name in ("thesis, Table 5.3", "dual-context, Table 2"):
        assert "30.58 and 39.80" in find_item(name).note and "1,024" in find_item(name).note
