"""The benchmark runs to its end: it is not installed, and imports what the package defines."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys

import forks
from commands import ROOT


def test_steps_of_an_architecture_against_fairseqs_model(corpus, tmp_path):
    out = tmp_path / "rows.json"
    words = ["steps", str(corpus), "transformer_dc_micro", "--rounds", "2", "--json", str(out)]
    words += ["--without", "dropout,onednn"]

    def measure():
        sys.argv = ["bench.py", *words, "--max-tokens", "80"]
        sys.path.insert(0, str(ROOT / "benchmarks"))
        sys.modules.pop("systems", None)  # of the tests; the benchmark has its own
        runpy.run_path(str(ROOT / "benchmarks/bench.py"), run_name="__main__")

    process = forks.Fork(measure, subprocess.PIPE)
    printed = process.stdout.read().decode()
    assert process.wait() == 0, printed
    rows = json.loads(out.read_text())
    assert [row["system"] for row in rows] == [
        "stock",
        "stock again",
        "transformer_dc_micro",
        "transformer_dc_micro without dropout",
        "transformer_dc_micro without onednn",
    ]
    assert all(len(row["ratios"]) == 2 and row["rate"] > 0 for row in rows)
    assert "| transformer_dc_micro" in printed
