"""The trained models of ``examples/multi30k_en_de/models``: they translate where they are."""

from __future__ import annotations

import json

import pytest
from commands import ROOT

from dc_nmt_plugin import cli

MODELS = sorted((ROOT / "examples/multi30k_en_de/models").glob("*-s1"))


def test_which_models_there_are() -> None:
    names = [
        "transformer_dc_modern-s1",
        "transformer_standard-s1",
        "transformer_standard_modern-s1",
    ]
    assert [path.name for path in MODELS] == names


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.name)
def test_a_model_translates_from_anywhere(model, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["translate", str(model), "--sentence", "A dog jumps over a fence."]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "Ein Hund springt über einen Zaun."


def test_an_analysis_of_our_own_sentences(capfd):
    """There is no text of the corpus beside the models."""
    text = [str(ROOT / f"examples/multi30k_en_de/sentences.{lang}") for lang in ("en", "de")]
    dual = str(MODELS[0])
    assert not list(MODELS[0].parent.glob("*/data/bin/test*"))
    assert cli.main(["analyze", "divergence", dual, "--cpu"]) == 2
    assert "Name a raw text with --source FILE --reference FILE" in capfd.readouterr().err
    words = ["--source", text[0], "--reference", text[1], "--cpu", "--json"]
    assert cli.main(["analyze", "divergence", dual, *words]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["sentences"] == 60
    assert 0.1 < report["runs"]["transformer_dc_modern-s1"]["mean"]["encoder"] < 0.6
