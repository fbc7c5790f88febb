"""Numbers of the documents' text, beside those of tables."""

from __future__ import annotations

from dc_nmt_plugin.commands import paper
from dc_nmt_plugin.papers.reader import find_item


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
