"""Every recipe's preparation, from made-up files in its campaign's own format."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import generated_files
import pytest
from generated_files import unchecked_recipes, write_files
from helpers import few
from msgspec.structs import replace
from sacremoses import MosesTruecaser

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.commands import recipe
from dc_nmt_plugin.laboratory.raw_text import TextSettings
from dc_nmt_plugin.laboratory.raw_text.preparation import fits, learn_truecaser, tokenise
from dc_nmt_plugin.laboratory.recipes.corpora import Corpora
from dc_nmt_plugin.laboratory.recipes.held_out import lines_by_rule
from dc_nmt_plugin.laboratory.recipes.planned import longest_sentence
from dc_nmt_plugin.laboratory.recipes.preparation import clean_pieces
from dc_nmt_plugin.laboratory.recipes.recipe import TASKS, Recipe
from dc_nmt_plugin.laboratory.recipes.sources import Sources
from dc_nmt_plugin.laboratory.recipes.splits import make_text

RECIPES = sorted(path.stem for path in TASKS.glob("*.yaml"))


class Prepared:
    """A recipe's text in a folder of its own."""

    def __init__(self, folder: Path, name: str, change: tuple[str, str] | None = None) -> None:
        recipes = unchecked_recipes(folder / "recipes")
        if change:
            path = recipes / f"{name}.yaml"
            text = path.read_text(encoding="utf-8")
            assert change[0] in text
            path.write_text(text.replace(*change), encoding="utf-8")
        self.folder, self.recipe = folder, Recipe(recipes / f"{name}.yaml")
        self.counts = write_files(self.recipe, folder / "raw")
        self.lines: list[str] = []

    def make(self, sample: int | None = None, any_counts: bool = True) -> dict[str, int]:
        self.lines.clear()
        sources = Sources(self.recipe, self.folder / "raw", self.folder / "dl", self.lines.append)
        work, to = self.folder / "work", self.folder / "text"
        return make_text(Corpora(sources, work, sample, any_counts), to)

    def text(self, name: str) -> list[str]:
        return (self.folder / "text" / name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", few(RECIPES, *RECIPES[::2]))
def test_every_recipe_s_text(tmp_path, name):
    prepared = Prepared(tmp_path, name)
    counts = prepared.make()
    recipe = prepared.recipe
    parts = {split: recipe.split_parts(split) for split in ("train", "valid", "test")}
    pairs = {split: sum(prepared.counts[p.name] for p in parts[split]) for split in parts}
    assert counts["test"] == pairs["test"]
    if parts["valid"]:
        assert counts["valid"] == pairs["valid"] and 0.8 * pairs["train"] < counts["train"]
    else:
        assert counts["train"] + counts["valid"] <= pairs["train"]
    settings = recipe.task.text
    for split, count in counts.items():
        for language in recipe.pair:
            raw, tokens = (
                prepared.text(f"{split}.{language}"),
                prepared.text(f"tokenised/{split}.{language}"),
            )
            assert len(raw) == len(tokens) == count and all(raw) and all(tokens)
            if settings.casing == "lower":
                assert tokens == [line.lower() for line in tokens]
            if language != "zh" and split == "test" and settings.scored_as != "none":
                assert " ." not in "".join(raw) and "&apos;" not in "".join(raw)
            assert not any("  " in line for line in tokens)
    train = zip(*(prepared.text(f"tokenised/train.{la}") for la in recipe.pair), strict=True)
    assert all(fits(*pair, settings.max_tokens, settings.ratio) for pair in train)
    manifest = json.loads((tmp_path / "text/manifest.json").read_text())
    assert manifest["pairs"] == counts


def test_what_is_done_is_not_repeated_and_needs_no_files(tmp_path):
    prepared = Prepared(tmp_path, "iwslt14_es_en")
    first = prepared.make(), prepared.text("tokenised/test.es")
    assert "train: 60 pairs" in prepared.lines
    for path in (tmp_path / "raw").iterdir():
        path.unlink()
    assert (prepared.make(), prepared.text("tokenised/test.es")) == first
    assert "train: done before" in prepared.lines


def test_random_validation_is_the_same_every_time_and_apart(tmp_path):
    change = ("random 7000", "random 10")
    prepared = Prepared(tmp_path / "a", "iwslt14_de_en", change)
    counts = prepared.make()
    assert counts["valid"] == 10 and counts["test"] == 48
    valid, train = prepared.text("valid.de"), prepared.text("train.de")
    assert not set(valid) & set(train)
    again = Prepared(tmp_path / "b", "iwslt14_de_en", change)
    again.make()
    assert again.text("valid.de") == valid
    path = tmp_path / "b/recipes/iwslt14_de_en.yaml"
    path.write_text(path.read_text().replace("seed: 1", "seed: 2"))
    again.recipe = Recipe(path)
    again.make()
    assert again.text("valid.de") != valid
    assert "train: done before" not in again.lines, "text is made again from another recipe"


def test_fairseq_s_split_takes_every_23rd_and_has_tedx(tmp_path):
    prepared = Prepared(tmp_path, "iwslt14_de_en_fairseq")
    counts = prepared.make()
    assert counts["test"] == 60 and counts["valid"] == (counts["train"] + counts["valid"]) // 23
    assert prepared.text("valid.de")[0] not in prepared.text("train.de")
    # the third and the sixth of the lines that are used
    kept = bytearray([1, 0, 1, 1, 1, 1, 1])
    assert lines_by_rule(("every", 3), 1, kept, None) == {3, 6}


def test_a_tokenised_corpus_is_not_tokenised_again(tmp_path, monkeypatch):
    monkeypatch.setattr(
        generated_files, "generated_pairs", lambda *_: [("It's here & there.", "Nó ở đây.")]
    )
    prepared = Prepared(tmp_path, "iwslt15_en_vi")
    prepared.make()
    assert set(prepared.text("tokenised/test.en")) == {"It &apos;s here &amp; there ."}
    assert set(prepared.text("test.en")) == {"It's here & there."}


def test_a_sample_takes_of_every_corpus(tmp_path):
    prepared = Prepared(tmp_path, "wmt14_en_de")
    counts = prepared.make(sample=30)
    assert counts == {"train": 30, "valid": 10, "test": 10}
    corpora = [
        (tmp_path / f"work/{name}/raw.en").read_text().splitlines()
        for name in ("europarl", "commoncrawl", "news-commentary")
    ]
    train = prepared.text("train.en")
    assert all(len(set(train) & set(corpus)) >= 10 for corpus in corpora)


def test_training_pairs_of_the_test_set_are_left_out(tmp_path):
    prepared = Prepared(tmp_path, "un_en_zh", ("random 2000", "random 5"))
    path = tmp_path / "raw/unCorpus.test.en"
    test = path.read_text().splitlines()
    prepared.make()
    assert prepared.text("test.zh") == (tmp_path / "raw/unCorpus.test.zh").read_text().splitlines()
    leaked = prepared.text("train.en")[7]
    path.write_text("\n".join([leaked.upper(), *test[1:]]) + "\n")
    shutil.rmtree(tmp_path / "work")
    prepared.make()
    assert leaked not in prepared.text("train.en") + prepared.text("valid.en")
    assert any(line.startswith("1 training pair left out: ") for line in prepared.lines)


def test_other_numbers_of_lines_than_published_are_refused(tmp_path):
    prepared = Prepared(tmp_path, "multi30k_en_de")
    with pytest.raises(UserError, match="train has 60 pairs, published are 29,000; valid has 12"):
        prepared.make(any_counts=False)
    known = Prepared(tmp_path / "vi", "iwslt15_en_vi")
    with pytest.raises(UserError, match=r"train: 60 pairs, not the 133,317 known"):
        known.make(any_counts=False)
    assert not (tmp_path / "vi/work/train").exists()
    # 60 is near enough to about 62
    for number, problem in (("62", "valid has 48 pairs, pub"), ("64", "train has 60 pairs, pub")):
        rounded = Prepared(tmp_path / number, "iwslt14_es_en", ("~183,000", f"~{number}"))
        with pytest.raises(UserError, match=f"^iwslt14_es_en: {problem}"):
            rounded.make(any_counts=False)


def test_a_missing_file_and_an_optional_corpus(tmp_path):
    prepared = Prepared(tmp_path, "wmt17_zh_en")
    cwmt = (tmp_path / "raw/cwmt.tgz").rename(tmp_path / "cwmt.tgz")
    assert prepared.make()["train"] == 120
    assert "neu2017: left out, cwmt.tgz is not here" in prepared.lines
    cwmt.rename(tmp_path / "raw/cwmt.tgz")
    more = prepared.make()["train"]
    assert more > 120 and "un: done before" in prepared.lines
    (tmp_path / "raw/cwmt.tgz").unlink()
    assert prepared.make()["train"] == more, "what was read stays, wherever the files went"
    (tmp_path / "raw/UNPC-en-zh.txt.zip").unlink()
    shutil.rmtree(tmp_path / "work/un")
    prepared.recipe.task.files["UNPC-en-zh.txt.zip"].urls = ["http://127.0.0.1:9/none"]
    with pytest.raises(UserError, match=r"Put UNPC-en-zh.txt.zip into .*raw and run the same"):
        prepared.make()


SETTINGS = TextSettings("moses", False, "keep", False, 0, 0, "moses")


def test_a_truecaser_is_the_library_s_and_learnt_line_by_line(tmp_path):
    lines = ["I see the House .", "the cat sees the house !", "Bob 's house", "IBM and iPhone"]
    MosesTruecaser().train([line.split() for line in lines], save_to=str(tmp_path / "library"))
    truecase = learn_truecaser(iter(lines), tmp_path / "ours")
    assert (tmp_path / "ours").read_text() == (tmp_path / "library").read_text()
    assert truecase("The House !") == "the house !"


def test_chinese_words_hyphens_punctuation_and_case():
    assert list(tokenise(["我们爱北京。"], "zh", SETTINGS)) == ["我们 爱 北京 。"]
    hyphens = replace(SETTINGS, hyphens=True, casing="lower")
    assert list(tokenise(["A well-known “one”"], "en", hyphens)) == ["a well @-@ known “ one ”"]
    normal = replace(SETTINGS, punctuation=True)
    assert next(tokenise(["“one”\u200b"], "en", normal)).startswith("&quot; one &quot;")


def test_cleaning_is_that_of_clean_corpus_n():
    rows = [
        ("a b", "c", 2, 2, True),
        ("a b c", "d", 0, 2, False),
        ("a b c", "d", 2, 0, False),
        ("a", "b c", 2, 1.9, False),
        ("", "b", 0, 0, False),
        ("a", "b c d e", 0, 0, True),
    ]
    assert [fits(*row[:4]) for row in rows] == [row[4] for row in rows]


def test_training_text_is_cleaned_after_bpe_and_long_sentences_are_found(tmp_path):
    for split, lines in {
        "train": ["a b", "a b c d", "a", "x@@ y"],
        "valid": ["a b c"],
        "test": ["a"],
    }.items():
        for language in ("en", "de"):
            (tmp_path / f"{split}.{language}").write_text("\n".join(lines) + "\n")
    assert clean_pieces(tmp_path, ("en", "de"), 3, 9) == (4, 3)
    assert clean_pieces(tmp_path, ("en", "de"), 3, 9, max_words=1) == (3, 2)
    assert longest_sentence(tmp_path, "train") == 3 and longest_sentence(tmp_path, "valid") == 4
    with pytest.raises(UserError, match="no training pair has at most 0"):
        (tmp_path / "train.en").write_text("\n\n")
        clean_pieces(tmp_path, ("en", "de"), 0, 0)
    with pytest.raises(UserError, match="none is not a folder"):
        recipe.main(["clean", str(tmp_path / "none"), "en", "de", "0", "0"])
    assert not (tmp_path / "none").exists()


def test_processes_of_the_tokeniser_end_with_a_killed_parent():
    """They hold the lock of the text, for which the next command waits."""
    code = """
import multiprocessing, sys
from dc_nmt_plugin.laboratory.raw_text import TextSettings
from dc_nmt_plugin.laboratory.raw_text.preparation import CHUNK, tokenise
for number, _ in enumerate(tokenise(["a b."] * 4 * CHUNK, "en", TextSettings())):
    if number == CHUNK:
        print(*[child.pid for child in multiprocessing.active_children()], flush=True)
        sys.stdin.read()
"""
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        children = [int(word) for word in parent.stdout.readline().split()]
        parent.kill()
    assert children
    end = time.monotonic() + 20
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < end
        time.sleep(0.1)
