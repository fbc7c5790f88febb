"""Pieces of the library sentencepiece, with the marks of subword-nmt."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from dc_nmt_plugin import cli
from dc_nmt_plugin.analysis.sentence import byte_pairs, codes_of
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.recipes.plan import RunOptions, plan_run
from dc_nmt_plugin.recipes.preparation import Preparation
from dc_nmt_plugin.recipes.recipe import SPLITS
from dc_nmt_plugin.recipes.schema import Segmentation
from dc_nmt_plugin.text.pieces import MODEL, check_installed, marked, remove_bpe

LINES = [
    "Ein Haus, zwei Häuser.",
    "Das ist ein Haus am See!",
    "これは家です",
    "A house by the lake",
]


def test_a_piece_that_goes_on_is_marked() -> None:
    pieces = ["\u2581Ein", "\u2581Ha", "us", ",", "\u2581", "x"]
    assert marked(pieces) == "Ein Ha@@ us@@ , x"
    assert marked([]) == ""


def test_text_comes_back_as_it_was(tmp_path) -> None:
    pytest.importorskip("sentencepiece")
    text, folder = tmp_path / "text", tmp_path / "bpe"
    text.write_text("\n".join(LINES * 30) + "\n", "utf-8")
    folder.mkdir()
    model = folder / MODEL
    assert cli.main(["recipe", "learn-pieces", "60", str(model), str(text)]) == 0
    assert cli.main(["recipe", "apply-pieces", str(model), str(text), str(tmp_path / "to")]) == 0
    pieces = (tmp_path / "to").read_text("utf-8").splitlines()
    assert [remove_bpe(line) for line in pieces] == LINES * 30
    assert any("@@ " in line for line in pieces)
    # beside the data, where the translation of new lines looks
    assert codes_of(tmp_path / "bin", "de") == model
    assert byte_pairs(model).process_line(LINES[0]) == pieces[0]


def test_a_missing_library_is_named(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(UserError, match="pip install sentencepiece"):
        check_installed("--sentencepiece")
    assert cli.main(["new", "mine", "--train", "a.de", "a.en", "--sentencepiece"]) == 1
    assert "pip install sentencepiece" in capsys.readouterr().err


@pytest.mark.parametrize("joint", [True, False])
def test_the_steps_learn_one_model_or_two(joint, tmp_path) -> None:
    chosen = Segmentation(operations=99, kind="sentencepiece", joint=joint)
    recipe = SimpleNamespace(pair=("de", "en"), splits=SPLITS)
    _, first, _ = Preparation(recipe, tmp_path, None, [chosen], 1).steps()
    assert first.name == "learn and apply sentencepiece (99 pieces)"
    commands = [" ".join(command.words) for command in first.commands(tmp_path / "to")]
    learnt = [words for words in commands if "learn-pieces 99" in words]
    assert len(learnt) == (1 if joint else 2)
    assert sum("apply-pieces" in words for words in commands) == 6


def test_words_of_raw_text_are_not_scored(tmp_path, monkeypatch) -> None:
    pytest.importorskip("sentencepiece")
    monkeypatch.chdir(tmp_path)
    for code, line in (("de", LINES[1]), ("en", LINES[3])):
        (tmp_path / f"a.{code}").write_text("".join(f"{n} {line}\n" for n in range(200)))
    scored = {}
    for name, *flags in (("raw", "--sentencepiece"), ("bpe",)):
        assert cli.main(["new", name, "--train", "a.de", "a.en", *flags]) == 0
        scored[name] = plan_run(RunOptions(name, "transformer_standard")).score
    assert "--tokenized-reference" in scored["bpe"]
    assert scored["raw"] == ("--tokenizer", "none", "--main", "mteval-v13a")
