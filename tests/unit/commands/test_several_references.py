"""``dc-nmt score`` with several references uses all of them."""

from __future__ import annotations

import json

import pytest
import sacrebleu

from dc_nmt_plugin import cli

LINES = {
    "hyp": ["The house is by the lake.", "A dog runs through the park.", "They eat."],
    "refA": ["The house is by the lake.", "A dog walks in the park.", "They dine."],
    "refB": ["A house stands by a lake.", "A dog runs through the park.", "They eat."],
    "refC": ["He goes.", "She comes.", "It was nothing."],
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, lines in LINES.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return tmp_path


def scored(*references, code=0, **flags):
    words = [word for path in references for word in ("--reference", path)]
    words += [word for name, value in flags.items() for word in (f"--{name}", value)]
    line = ["score", "hyp", "--target-lang", "en", *words, "--out", "out.json"]
    assert cli.main(line) == code
    if code:
        return None
    with open("out.json", encoding="utf-8") as file:
        result = json.load(file)
    return {score["metric"]: score["value"] for score in result["decodings"][0]["scores"]}


def test_several_references_are_used_together(here, capsys):
    both = scored("refA", "refB", tokenizer="moses")
    assert "nrefs:2" in capsys.readouterr().out
    streams = [LINES["refA"], LINES["refB"]]
    assert both["mteval-v13a"] == sacrebleu.corpus_bleu(LINES["hyp"], streams).score
    assert both["chrf"] == sacrebleu.corpus_chrf(LINES["hyp"], streams).score
    assert both["ter"] == sacrebleu.corpus_ter(LINES["hyp"], streams).score
    one, other = scored("refA", tokenizer="moses"), scored("refB", tokenizer="moses")
    for metric, score in both.items():
        better = min if metric == "ter" else max
        assert better(score, one[metric], other[metric]) == score, metric
    assert scored("refB", "refA", tokenizer="moses") == both
    three = scored("refA", "refB", "refC", tokenizer="moses")
    assert three["chrf"] == both["chrf"]


def test_each_reference_is_looked_at(here, capsys):
    (here / "short").write_text("a\n")
    (here / "blank").write_text("a\n\nb\n")
    for bad, said in (("short", "3 hypotheses for 1"), ("blank", "line 2"), ("no", "no: cannot")):
        scored("refA", bad, code=1)
        assert said in capsys.readouterr().err


def test_systems_are_not_compared_on_several(here, capsys):
    scored("refA", "refB")
    for command in (
        "compare out.json refA",
        "results out.json",
    ):
        assert cli.main(command.split()) == 1
        assert "was scored against 2 references" in capsys.readouterr().err
