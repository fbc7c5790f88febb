"""Checkpoints that fairseq 0.12.2 saved on Python 3.10 translate as they did there."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import ROOT, run

OLD = ROOT / "tests" / "data" / "fairseq_0.12.2"


def translations(lines: list[str]) -> dict[int, tuple[str, float]]:
    """Number of a sentence → its translation and score, of lines "number, score, text"."""
    parts = [line.split("\t") for line in lines]
    return {int(number): (text, float(score)) for number, score, text in parts}


@pytest.mark.parametrize("arch", ["transformer_dc", "transformer"])
def test_an_old_checkpoint_translates_as_before(arch: str, tmp_path: Path):
    """The first has a marker with its positions, the second copies of parameters as well."""
    words = [OLD, "--path", OLD / f"{arch}.pt", "--user-dir", ROOT / "dc_nmt_plugin"]
    words += ["--task", "translation", "--cpu", "--beam", 3, "--num-workers", 0]
    done = run(tmp_path, "generate", *words).good()
    hypotheses = [line[2:] for line in done.output.splitlines() if line.startswith("H-")]
    expected = translations((OLD / f"{arch}.txt").read_text("utf-8").splitlines())
    for number, (text, score) in translations(hypotheses).items():
        assert text == expected[number][0]
        assert score == pytest.approx(expected[number][1], abs=1e-4)
    assert len(hypotheses) == len(expected) == 12
