"""Tables for the terminal."""

from __future__ import annotations

from dc_nmt_plugin.laboratory.table import format_table


def test_a_wide_table_continues_below_without_empty_lines():
    rows = [("a", "s" * 70, "three words of a long text " * 3), ("b", "s", "short")]
    above, below = format_table(("key", "signature", "text"), rows).split("\n\n")
    assert [line[0] for line in above.split("\n")] == ["k", "-", "a", "b"]
    assert len(below.split("\n")) > 4  # the long text has several lines


def test_each_part_of_a_wide_table_names_its_rows():
    rows = [["run", f"layer {number}", "1 " * 25, "3 " * 25, "7"] for number in (1, 2)]
    parts = format_table(["run", "layer", "distance", "entropy", "n"], rows).split("\n\n")
    assert [part.split()[2] for part in parts] == ["distance", "entropy"]
    for part in parts:
        assert [line[:12] for line in part.splitlines()[2:]] == ["run  layer 1", "run  layer 2"]
