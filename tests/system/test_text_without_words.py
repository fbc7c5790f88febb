"""Text without spaces between words: sentencepiece, from raw lines to a score and a figure."""

from __future__ import annotations

import re
import shutil

import forks
import pytest
from commands import ROOT, assert_explained, run
from helpers import toy_text

import dc_nmt_plugin
from dc_nmt_plugin import cli
from dc_nmt_plugin.laboratory.evaluation.metrics import METRICS
from dc_nmt_plugin.runs.record import read_record
from dc_nmt_plugin.text.lines import read_lines
from dc_nmt_plugin.text.segmentation import SENTENCEPIECE

pytest.importorskip("sentencepiece")
RUN = "mine/transformer_standard_unshared-s1"
SMALL = ["--encoder-layers", "1", "--decoder-layers", "1", "--num-workers", "0", "--lr", "1e-2"]
for side in ("encoder", "decoder"):
    SMALL += [f"--{side}-embed-dim", "16", f"--{side}-ffn-embed-dim", "16"]
    SMALL += [f"--{side}-attention-heads", "2"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder in which ``dc-nmt new mine`` and ``dc-nmt run mine`` have been called."""
    here = tmp_path_factory.mktemp("home")
    for code, lines in zip(("en", "ja"), zip(*toy_text("en", "zh", 330), strict=True), strict=True):
        (here / f"a.{code}").write_text("\n".join(lines) + "\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        forks.start_for_recipes(patch)
        words = ["--train", "a.en", "a.ja", "--segment", "sentencepiece"]
        assert cli.main(["new", "mine", *words]) == 0
        recipe = here / "mine/recipe.yaml"
        text = recipe.read_text("utf-8").replace("--beam 5", "--beam 1")
        recipe.write_text(text.replace("--max-len-a 2", "--max-len-a 0"), "utf-8")
        assert cli.main(["run", "mine", "--max-update", "2", "--average", "1", *SMALL]) == 0
    return here


@pytest.fixture
def here(home, monkeypatch):
    monkeypatch.chdir(home)
    return home


def call(capfd, *words):
    """What a command prints; its errors are last."""
    capfd.readouterr()
    code = cli.main(list(map(str, words)))
    output, errors = capfd.readouterr()
    return code, output if code == 0 else errors


def test_from_raw_lines_to_a_score(here):
    raw, pieces = (read_lines(here / f"mine/data/{name}/test.ja") for name in ("raw", "bpe"))
    assert list(map(SENTENCEPIECE.join, pieces)) == raw and " " not in "".join(raw)
    (decoding,) = read_record(here / RUN).decodings
    assert decoding.search["remove-bpe"] == "sentencepiece"
    log = (here / RUN / "generate/generate-test.txt").read_text("utf-8")
    targets = {int(n): line for n, line in re.findall(r"^T-(\d+)\t(.*)", log, re.M)}
    assert targets == dict(enumerate(raw)), "nothing is unknown: a new character is its bytes"
    assert "▁" not in log
    (score,) = (score for score in decoding.scores if score.paper)
    assert score.metric == "char"
    assert score.text == "hypotheses sentencepiece joined, as translated; reference as given"
    assert not any(METRICS[score.metric].tokenized for score in decoding.scores), "there are none"
    hypotheses = read_lines(here / RUN / "hypotheses.ja")
    value, _ = METRICS["char"].score(hypotheses, raw, "ja")
    assert score.value == pytest.approx(value) and any(hypotheses)


def test_a_model_translates_and_shows_its_attention(here, tmp_path, monkeypatch, capfd):
    expected = read_lines(here / RUN / "hypotheses.ja")
    (source, *_), (target, *_) = (
        read_lines(here / f"mine/data/raw/test.{c}") for c in ("en", "ja")
    )
    code, text = call(capfd, "translate", RUN, "mine/data/raw/test.en")
    assert code == 0 and text.splitlines() == expected
    code, text = call(capfd, "analyze", "matrix", RUN, "--sentence", source)
    first, *_ = source.split()
    assert code == 0 and re.search(rf"query +▁{first[0]}", text), text
    code, text = call(capfd, "analyze", "lengths", RUN, "--unit", "pieces")
    assert code == 0 and "pieces; joined pieces, against" in text
    assert call(capfd, "export", RUN, "--run", tmp_path / "packed")[0] == 0
    monkeypatch.chdir(tmp_path)
    model = dc_nmt_plugin.load("packed")
    # in half precision, so the end of nonsense may differ
    assert model.translate([source])[0].hypothesis[:9] == expected[0][:9]
    attention = model.attention(source, target)["decoder.1.source"]
    for side, line in ((attention.keys, source), (attention.queries, target)):
        assert SENTENCEPIECE.join(" ".join(side[:-1])) == line


def test_validation_bleu_joins_the_pieces(here, tmp_path):
    words = [
        "mine/data/bin",
        "--arch",
        "transformer_standard_unshared",
        "--task",
        "translation_dc_nmt",
    ]
    words += ["--user-dir", ROOT / "dc_nmt_plugin", "--optimizer", "adam", "--cpu", *SMALL]
    words += ["--max-tokens", 800, "--max-update", 1, "--save-dir", tmp_path, "--eval-bleu"]
    refused = run(here, "train", *words, "--eval-bleu-remove-bpe")
    pieces = "is in pieces of sentencepiece, so the score would be of pieces; give"
    assert_explained(refused, pieces, "--eval-bleu-remove-bpe sentencepiece")
    run(here, "train", *words, "--no-save", "--eval-bleu-remove-bpe", "sentencepiece").good()


def test_missing_codes_and_those_of_another_name(here, tmp_path, monkeypatch, capfd):
    shutil.copytree("mine", tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    shutil.move("mine/data/bpe/codes.en.model", "other")
    code, text = call(capfd, "translate", RUN, "--sentence", "a")
    assert code == 1 and "is segmented by sentencepiece, and the codes are missing" in text
    assert call(capfd, "translate", RUN, "--sentence", "a", "--bpe-codes", "other")[0] == 0
