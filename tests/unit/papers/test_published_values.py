"""The register's numbers: those that recipes hold, and a second transcription of the documents."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from dc_nmt_plugin.papers.reader import find_item, read_documents

EXAMPLES = Path(__file__).parents[3] / "examples"
ENTRIES = [entry for document in read_documents() for entry in document.entries]


def values(name, **wanted):
    """An item's values as printed, of the entries that have these fields."""
    return [
        str(entry.value)
        for entry in find_item(name).entries
        if all(getattr(entry, key) == value for key, value in wanted.items())
        and entry.value is not None
    ]


def own(name, **wanted):
    return [
        str(e.value)
        for e in find_item(name).entries
        if not e.other and all(getattr(e, k) == v for k, v in wanted.items())
    ]


# Typed again from the documents, a line for each that recipes do not hold.
SECOND = {
    "dual-context, Table 5": ({}, "29.26 29.04 28.98 28.93 29.04 28.94 28.47 28.57 28.78"),
    "thesis, Table 5.6": ({}, "29.26 29.04 28.98 28.93 29.04 28.94 28.47 28.57 28.78"),
    "context-aware, Table 3": ({}, "25.84 26.42 26.36 26.20"),
    "cross-aggregation, Table 1": ({}, "24.28 24.76 24.88 25.02 24.68"),
    "cross-aggregation, Table 2": (
        {"column": "En⇒De"},
        "26.30 26.36 27.30 28.40 27.98 27.43 28.04",
    ),
    "thesis, Table 3.4": (
        {"column": "BLEU"},
        "28.37 28.49 28.59 "
        "28.57 28.13 28.02 28.37 28.24 28.57 28.50 28.48 28.33 28.29 "
        "28.60 28.80 28.76 28.49 28.15 28.60 28.36 28.81 28.57 28.82 "
        "28.43 28.53 28.72 28.66 28.80 28.82 28.76 28.66 28.46 28.54 "
        "28.42 28.41 28.59 29.12 29.08 28.72 28.71 28.60 28.62 28.51",
    ),
    "thesis, Table 4.7": (
        {},
        "31.32 30.63 34.87 34.05 40.60 39.71 31.29 30.60 35.12 33.93 40.92 39.61 "
        "31.13 30.91 34.96 34.38 40.71 40.10 31.52 30.89 35.20 34.33 40.83 40.08 "
        "31.08 30.88 34.83 34.77 40.65 40.26 31.64 31.24 35.14 34.62 41.22 39.73",
    ),
    "residual-decoder, Table 2": (
        {"column": "NT15"},
        "25.0 25.49 24.8 24.9 24.3 24.9 25.5",
    ),
    "residual-decoder, Table 3": (
        {},
        "20.1 24.4 34.2 22.8 29.0 21.0 24.4 28.8 21.4 24.7 29.6 21.7 25.0 29.7",
    ),
    "residual-decoder, Table 6": ({"measure": "perplexity"}, "85.2 82.0 75.9 80.2 80.4"),
    "residual-decoder, 7.3": ({}, "13.9"),
    "residual-decoder, 8.2 ParsEval": ({}, "0.56 0.45"),
    "dual-context, Table 4": (
        {"column": "Enc-DC"},
        "93.45 75.95 84.70 44.29 74.11 75.44 64.61 88.65 85.33 85.13 52.49 62.56 74.83",
    ),
    "thesis, Table 5.5": (
        {"column": "Transformer"},
        "93.38 71.50 82.44 43.93 69.49 74.56 62.66 88.40 85.01 85.9 52.67 62.30 74.86",
    ),
    "thesis, Table 4.8": (
        {"column": "MS-2"},
        "88.35 60.38 74.37 34.78 56.20 65.44 52.14 78.52 74.98 76.20 51.38 58.14 67.84",
    ),
    "residual-decoder, Table 5": (
        {},
        "28 60 12 28 56 16 32 54 14 24 62 14 28 58 14 32 56 12",
    ),
    "dual-context, Table 1": ({"measure": "train-steps"}, "3.66 3.0 3.08 2.53"),
    "context-aware, Table 1": (
        {"measure": "decode-sentences"},
        "1.52 1.50 1.48 1.38 1.36 1.44 1.35 1.20",
    ),
    "thesis, Table 4.6a": (
        {"measure": "decode-tokens"},
        "298.96 310.46 184.67 310.46 141.10 310.46 106.0",
    ),
    "thesis, Table 3.2": (
        {"measure": "train-steps"},
        "3.66 3.55 3.52 3.38 3.11 2.66 2.74 2.59 2.70",
    ),
    "thesis, Table 5.2": (
        {"measure": "params"},
        "61.2 77.0 92.7 86.5 88.0 73.9 73.9 86.5",
    ),
    "context-aware, Table 2": (
        {"measure": "params"},
        "65 213 107.9 126.8 303.9 379.4 88.0 106.9 264.1 339.6",
    ),
    "dual-context, Table 3": ({}, "23.30 27.69 28.07 37.29 40.51 40.50"),
    "thesis, Table 4.2": (
        {},
        "29.92 30.08 32.35 32.85 33.10 34.71 35.10 35.07 34.53 34.87 35.12 34.96 35.20 34.83 35.14",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SECOND)
def test_second_transcription(name):
    wanted, numbers = SECOND[name]
    assert values(name, **wanted) == numbers.split()


MORE = [
    ("context-aware, Table 1", "train-steps", "1.28 1.26 1.25 1.18 1.16 1.23 1.15 1.04"),
    ("context-aware, Table 1", "multi-bleu", "27.31 27.96 28.15 28.01 28.26 27.94 28.02 28.16"),
    ("context-aware, Table 1", "params", "88.0 91.0 99.0 95.9 106.9 99.0 106.9 125.8"),
    ("context-aware, Table 2", "train-steps", "1.21 1.10 0.58 0.41 1.28 1.16 0.61 0.44"),
    ("context-aware, Table 2", "bleu", "24.20 27.30 28.40"),
    ("cross-aggregation, Table 2", "bleu", "26.30 26.36 27.30 28.40 24.20 24.68 27.98"),
    ("dual-context, Table 1", "bleu", "26.30 26.36 27.31 27.70 28.81 28.78 28.18"),
    ("residual-decoder, Table 1", "bleu", "21.6 25.2"),
    ("residual-decoder, Table 2", "bleu", "20.9 22.57 22.1 25.0 25.49"),
    ("residual-decoder, Table 3", "bleu", "20.1 24.4 34.2 22.8 29.0"),
    ("residual-decoder, Table 3", "mteval-v13a", "21.0 24.4 28.8 21.4 24.7 29.6 21.7 25.0 29.7"),
    ("residual-decoder, Table 1", "params", "108.7 109.7 110.2 108.7 108.9"),
    ("residual-decoder, Table 6", "params", "47 47 47 47 47"),
    ("residual-decoder, Settings", "train-words", "1000"),
    ("thesis, Table 3.2", "bleu", "26.30 26.36 27.31 28.81 28.78"),
    ("thesis, Table 3.3", "bleu", "23.30 27.69 28.07 40.51 40.50 37.29"),
    ("thesis, Table 4.1", "bleu", "23.30 27.69 28.07"),
    ("thesis, Table 4.2", "bleu", "29.92 30.08 32.35 32.85 33.10 34.71 35.10 35.07"),
    ("thesis, Table 4.3", "bleu", "37.29 40.51 40.50"),
    ("thesis, Table 4.4", "bleu", "26.30 26.36 27.31 28.81 28.78"),
    ("thesis, Table 5.2", "bleu", "26.30 26.36 27.31 28.81 28.78 28.18"),
    ("thesis, Table 5.4a", "bleu", "23.30 27.69 28.07"),
    ("thesis, Table 5.4b", "bleu", "37.29 40.51 40.50"),
    ("thesis, Table 4.6a", "train-steps", "8.58 5.50 5.42 3.90 3.77 3.08 3.04"),
    ("thesis, Table 4.6a", "params", "12.8 17.0 17.3 21.2 21.7 25.4 26.2"),
    ("thesis, Table 5.2", "train-steps", "3.65 3.11 2.59 2.20 2.14 3.01 3.08 2.53"),
    (
        "thesis, Table 3.4", "train-steps",
        "3.65 2.95 2.60 3.64 3.63 3.63 3.59 3.57 3.63 3.61 3.61 3.54 3.52 3.56 3.53 3.49 3.46 3.41 "
        "3.56 3.45 3.33 3.22 3.11 3.41 3.18 3.03 2.77 2.65 3.45 3.20 3.06 2.93 2.74 "
        "3.39 3.15 3.01 2.76 2.59 3.44 3.16 3.01 2.83 2.70",
    ),
    (
        "thesis, Table 3.4", "params",
        "61.2 86.5 90.7 61.8 62.1 62.3 62.6 62.8 61.8 62.3 62.8 63.4 63.4 64.4 65.5 66.5 67.6 68.6 "
        "64.4 67.6 70.7 73.9 77.0 67.5 73.8 80.2 86.4 92.7 66.0 70.7 75.4 80.2 84.9 "
        "67.5 73.8 80.2 86.4 92.7 66.0 70.7 75.4 80.2 84.9",
    ),
    (
        "thesis, Table 4.4", "mteval-v13a",
        "28.37 28.81 29.08 29.07 29.32 29.02 28.88 28.90 28.97 29.16 29.11 28.74 29.14",
    ),
    (
        "thesis, Table 4.8", "accuracy",
        "87.63 88.65 88.35 87.88 61.7 61.17 60.38 62.50 74.67 74.91 74.37 75.19 "
        "34.63 35.67 34.78 34.65 54.53 56.58 56.20 55.60 63.25 65.45 65.44 63.12 "
        "50.80 52.57 52.14 51.12 78.88 79.22 78.52 78.48 74.86 75.03 74.98 74.21 "
        "75.80 74.79 76.20 75.19 51.67 51.47 51.38 51.4 58.07 58.31 58.14 57.34 "
        "67.86 67.77 67.84 67.32",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "measure", "numbers"), MORE)
def test_second_transcription_by_measure(name, measure, numbers):
    assert values(name, measure=measure) == numbers.split()


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
    prose = {
        f"{entry.document}, {entry.item}, {entry.row}": str(entry.value)
        for entry in ENTRIES
        if entry.read == "prose"
    }
    assert prose["dual-context, Figure 3, f = 8"] == "28.47"
    assert prose["thesis, Figure 3.6, M-11"] == "25.91"
    *_, footnote = find_item("context-aware, Footnote 1").entries
    assert (str(footnote.difference), footnote.read) == ("-5.23", "prose")


def test_other_systems_have_no_run():
    assert len({(e.item, e.row) for e in ENTRIES if e.document == "dual-context" and e.other}) == 13
    assert own("thesis, Table 4.1") == ["30.58", "31.13", "31.07", "31.32", "31.29", "31.13",
                                        "31.52", "31.03", "31.64"]  # fmt: skip
