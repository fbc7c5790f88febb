"""The benchmark runs to its end: it is not installed, and imports what the package defines."""

from __future__ import annotations

import json
import subprocess
import sys

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
