"""The benchmark runs to its end: it is not installed, and imports what the package defines."""

from __future__ import annotations

import json
import subprocess
import sys

from commands import ROOT


def test_steps_of_an_architecture_against_fairseqs_model(corpus, tmp_path):
    out = tmp_path / "rows.json"
    words = ["steps", str(corpus), "transformer_dc_micro", "--rounds", "2", "--json", str(out)]
    words += ["--without", "packing,chunked_loss"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/bench.py"), *words, "--max-tokens", "80"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = json.loads(out.read_text())
    assert [row["system"] for row in rows] == [
        "stock",
        "stock again",
        "transformer_dc_micro",
        "transformer_dc_micro without packing",
        "transformer_dc_micro without chunked_loss",
    ]
    assert all(len(row["ratios"]) == 2 and row["rate"] > 0 for row in rows)
    assert "| transformer_dc_micro" in done.stdout
