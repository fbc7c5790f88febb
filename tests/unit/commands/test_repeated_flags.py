"""A flag that takes one value is given once, in every command."""

from __future__ import annotations

import argparse
import json
import shlex

import pytest
import sacrebleu

from dc_nmt_plugin import cli
from dc_nmt_plugin.commands.parser import Parser
from dc_nmt_plugin.errors import UserError

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


COMMANDS = [
    "score hyp --reference refA --target-lang en --target-lang de",
    "score hyp --reference refA --target-lang en --tokenized-reference refA "
    "--tokenized-reference refB",
    "compare hyp refA --reference refA --reference refB --target-lang en",
    "new mine --train a.de a.en --valid b.de b.en --valid c.de c.en",
    "prepare multi30k_en_de --out x --out y",
    "train multi30k_en_de transformer_dc --seed 1 --seed 2",
    "run multi30k_en_de transformer_dc --lr 1e-3 --lr 2e-3",
    "evaluate multi30k_en_de transformer_dc --as a --as b",
    "evaluate multi30k_en_de transformer_dc --beam 4 --beam 5",
    "train multi30k_en_de transformer_dc --dropout 0.1 --dropout=0.2",
    "translate run hyp --beam 4 --beam 5",
    "average a --kind epoch --kind update --out out.pt",
    "export a --out b --out c",
    "results x --metric chrf --metric ter",
    "paper plot x --out a --out b",
    "paper parameters --vocabulary 10 --vocabulary 20",
    "analyze source-layers run --data a --data b",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_refused_with_both_values(command, here, capsys):
    before = set(here.iterdir())
    try:
        code = cli.main(shlex.split(command))
    except SystemExit as end:
        code = end.code
    told = capsys.readouterr().err
    assert code in (1, 2) and set(here.iterdir()) == before
    assert "given twice" in told, told
    assert told.rstrip().endswith("give it once")


def test_switches_and_lists_may_be_repeated():
    def error(message):
        raise UserError(message)

    parser = Parser(prog="x")
    parser.error = error
    parser.add_argument("--switch", action="store_true")
    parser.add_argument("--each", action="append", nargs=2)
    parser.add_argument("--one", nargs="+")
    found = parser.parse_args(
        ["--switch", "--switch", "--each", "a", "b", "--each", "c", "d", "--one", "e", "f"]
    )
    assert found == argparse.Namespace(switch=True, each=[["a", "b"], ["c", "d"]], one=["e", "f"])
    assert parser.parse_args(["--one", "e"]).one == ["e"], "a new line is a new line"
    with pytest.raises(UserError, match="--one: is given twice, with 'e f' and with 'g'"):
        parser.parse_args(["--one", "e", "f", "--one", "g"])


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
