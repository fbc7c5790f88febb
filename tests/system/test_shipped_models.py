"""The trained models of ``examples/multi30k_en_de/models``: they translate where they are."""

from __future__ import annotations

import json

import pytest
from commands import ROOT

from dc_nmt_plugin import cli

MODELS = sorted((ROOT / "examples/multi30k_en_de/models").glob("*-s1"))


def test_the_folder_of_the_models_names_them(capfd):
    names = ("transformer_dc_modern", "transformer_standard", "transformer_standard_modern")
    assert [path.name for path in MODELS] == [f"{name}-s1" for name in names]
    assert cli.main(["translate", str(MODELS[0].parent), "--sentence", "A dog."]) == 1
    assert f"Its runs are {', '.join(map(str, MODELS))}." in capfd.readouterr().err


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.name)
def test_a_model_translates_from_anywhere(model, cwd, capfd):
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


# analysis → model of made-up text
ANALYSED = {
    "gates": "mixed",
    "routing": "mixed",
    "source-layers": "mixed",
    "dependency": "mixed",
    "previous-words": "residual",
    "trees": "residual",
}


@pytest.mark.parametrize("analysis", ANALYSED)
def test_each_analysis_has_a_model_to_try(analysis, capfd):
    folder = ROOT / "examples/toy_en_de"
    text = ["--source", str(folder / "sentences.en"), "--reference", str(folder / "sentences.de")]
    model = folder / f"models/{ANALYSED[analysis]}-s1"
    words = [analysis, str(model), *text, "--sentences", "4", "--cpu"]
    assert cli.main(["analyze", *words]) == 0
    assert model.name in capfd.readouterr().out
