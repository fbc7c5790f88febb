"""The published numbers, against a second transcription of the documents (``printed.txt``)."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from dc_nmt_plugin.study.papers.reader import find_item, read_documents

LINES = Path(__file__).with_name("printed.txt").read_text("utf-8").splitlines()[1:]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.rpartition("|")[0])
def test_the_values_are_those_printed(line):
    name, fields, numbers = (part.strip() for part in line.rsplit("|", 2))
    wanted = dict(field.split("=") for field in fields.split(", ") if field)
    values = [
        str(entry.value)
        for entry in find_item(name).entries
        if entry.value is not None
        and all(getattr(entry, field) == value for field, value in wanted.items())
    ]
    assert values == numbers.split()


def test_differences_with_a_layer_masked():
    printed = """
        -27.01 -0.12 +0.10 -0.20 -0.11 -0.94
        -21.56 -0.14 +0.06 -0.26 -0.37 1.85
        -0.03 -0.01 -0.12 -0.05 0.0 -28.29
        -4.53 -0.54 -0.59 -2.21 -4.0 -27.16
        -15.25 -0.49 -0.27 0.03 -1.79 -9.85
        -24.99 -0.19 -0.09 0.13 -0.81 -1.49
        -0.83 -1.32 -1.05 -1.0 -1.50 -1.09
        -0.26 -1.13 -0.83 -1.43 -1.34 -0.1"""
    entries = find_item("thesis, Table 3.5").entries
    assert [entry.difference for entry in entries] == [Decimal(n) for n in printed.split()]
    assert {entry.decoding["mask_source_layers"] for entry in entries} == set("123456")
    assert sum(entry.p is not None for entry in entries) == 28


def test_numbers_that_the_text_alone_says():
    entries = [entry for document in read_documents() for entry in document.entries]
    prose = {(e.document, e.item, e.row): str(e.value) for e in entries if e.read == "prose"}
    assert prose["dual-context", "Figure 3", "f = 8"] == "28.47"
    assert prose["thesis", "Figure 3.6", "M-11"] == "25.91"
    *_, footnote = find_item("context-aware, Footnote 1").entries
    assert (str(footnote.difference), footnote.read) == ("-5.23", "prose")
