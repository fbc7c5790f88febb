"""Three layers: the plugin works without the others, and the laboratory without the study."""

from __future__ import annotations

import os
import shutil

import pytest
from commands import ROOT
from helpers import toy_text
from systems import family, generation, training

PACKAGE = "dc_nmt_plugin"
# an installation of the checkout also finds modules that the copy lacks
COPY_ALONE = (
    "import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'ditable' not in repr(f)]\n"
)
FAIRSEQ = COPY_ALONE + "from fairseq_cli.{0} import cli_main; sys.exit(cli_main())"
DC_NMT = COPY_ALONE + "from dc_nmt_plugin import cli; sys.exit(cli.main())"


@pytest.fixture
def copied(tmp_path):
    """Copies the package without some of its layers; returns the folder that has the copy."""

    def copy(*layers):
        hidden = shutil.ignore_patterns("__pycache__", *layers)
        shutil.copytree(ROOT / PACKAGE, tmp_path / "copy" / PACKAGE, ignore=hidden)
        return tmp_path / "copy"

    return copy


def test_fairseq_trains_and_decodes_with_the_plugin_alone(bare, copied, corpus, tmp_path):
    place = copied("laboratory", "study")

    def program(name, words):
        code, words = FAIRSEQ.format(name), [*words, "--user-dir", place / PACKAGE]
        return bare.run(code, *words, folder=tmp_path, environment={"PYTHONPATH": str(place)})

    run = tmp_path / "run"
    flags = [*family("transformer_dc"), "--max-update", 4, "--save-interval-updates", 2]
    trained = program("train", training(corpus, run, *flags)).good()
    assert "valid_loss" in trained.errors
    last = [run / f"checkpoint_1_{updates}.pt" for updates in (2, 4)]
    assert (run / "run.json").is_file() and all(path.is_file() for path in last)
    # fairseq's programs average by an ensemble; its script for checkpoints is not installed
    both = os.pathsep.join(map(str, last))
    translated = program("generate", generation(corpus, both, "transformer_dc"))
    assert translated.good().hypotheses()


def test_dc_nmt_runs_and_shows_results_without_the_study(bare, copied, tmp_path):
    place = copied("study")
    for side, code in enumerate(("en", "de")):
        lines = [pair[side] for pair in toy_text("en", "de", 300)]
        (tmp_path / f"a.{code}").write_text("\n".join(lines) + "\n", "utf-8")

    def dc_nmt(*words):
        paths = {"PYTHONPATH": str(place)}
        return bare.run(DC_NMT, *words, folder=tmp_path, path=[place], environment=paths)

    dc_nmt("new", "mine", "--train", "a.en", "a.de", "--bpe", 100).good()
    size = ["--encoder-layers", 1, "--decoder-layers", 1, "--encoder-embed-dim", 16]
    size += ["--decoder-embed-dim", 16, "--encoder-ffn-embed-dim", 16]
    dc_nmt("run", "mine", "transformer_dc", "--max-update", 20, "--gpus", 0, *size).good()
    table = dc_nmt("results", "mine/transformer_dc-s1").good()
    assert "transformer_dc-s1" in table.output
    refused = dc_nmt("analyze", "attention", "mine/transformer_dc-s1")
    assert refused.code == 1 and "dc_nmt_plugin/study, which is not installed" in refused.errors
