"""The benchmark runs to its end: it is not installed, and imports what the package defines."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from commands import ROOT


def test_programs_of_an_architecture_against_fairseqs_model(corpus, tmp_path):
    out = tmp_path / "rows.json"
    words = [ROOT / "benchmarks/bench.py", "programs", corpus, "transformer_dc_micro"]
    words += ["--turns", "5", "--max-tokens", "80", "--without", "dropout", "--json", out]
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())
    assert [row["system"] for row in rows] == [
        "stock",
        "stock again",
        "transformer_dc_micro",
        "transformer_dc_micro without dropout",
    ]
    assert all(len(row["ratios"]) == 2 and row["rate"] > 0 for row in rows)
    assert rows[0]["ratios"] == [1, 1] and len(rows[3]["kept"]) == 2
    assert "| transformer_dc_micro" in done.stdout


@pytest.mark.parametrize(
    "data,flags,named",
    [
        ("missing", [], ["missing", "fairseq-preprocess"]),
        ("", ["--turns", "3"], ["--turns: 3", "give 5 or more"]),
        ("", ["--without", "dropout,no_piece"], ["--without", "no_piece", "beam_search"]),
    ],
)
def test_bad_input_is_refused_in_one_sentence(data, flags, named, tmp_path):
    (tmp_path / "dict.en.txt").touch()
    words = ["benchmarks/bench.py", "programs", tmp_path / data, "transformer_dc_micro", *flags]
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and len(lines) == 1 and not done.stdout
    assert all(word in lines[0] for word in named)
