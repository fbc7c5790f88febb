"""``dc-nmt new --add``: several training corpora, repeated and tagged."""

from __future__ import annotations

import pytest
import yaml
from helpers import toy_text

from dc_nmt_plugin import cli
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.recipes.corpora import Corpora
from dc_nmt_plugin.laboratory.recipes.new_recipe import Added, NewOptions, make_recipe
from dc_nmt_plugin.laboratory.recipes.recipe import load
from dc_nmt_plugin.laboratory.recipes.sources import Sources
from dc_nmt_plugin.laboratory.recipes.splits import make_text
from dc_nmt_plugin.text.lines import read_lines

TAG = "<bt>"


@pytest.fixture
def here(cwd):
    """A folder with 300 pairs, and others whose sources are machine output of the same targets."""
    every = toy_text("en", "de", 420, seed=3)
    every[:9] = [(f"{a[:-1]} yet.", b) for a, b in every[:9]]  # the form inside a sentence
    pairs = {"a": every[:300], "b": [(f"Yet {a}", b) for a, b in every[250:]]}
    for name, some in pairs.items():
        for side, code in enumerate(("en", "de")):
            lines = [pair[side] for pair in some]
            (cwd / f"{name}.{code}").write_text("\n".join(lines) + "\n", "utf-8")
    (cwd / "c.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in every[330:400]), "utf-8")
    return cwd


ADDED = ["--add", "b.en", "b.de", "repeat=2", f"tag={TAG}", "--add", "c.tsv"]


def made(here, sample=None, **changes):
    """The training text of mine: raw and tokenised sources, and targets."""
    path = here / "mine/recipe.yaml"
    recipe = yaml.safe_load(path.read_text("utf-8"))
    recipe |= changes
    path.write_text(yaml.safe_dump(recipe), "utf-8")
    task = load("mine")
    to = here / f"text{len(list(here.iterdir()))}"
    counts = make_text(Corpora(Sources(task, None, here, print), to / "work", sample, False), to)
    names = [f"train.{task.source}", f"tokenised/train.{task.source}", f"train.{task.target}"]
    return (*[read_lines(to / name) for name in names], counts, to)


def test_corpora_are_repeated_and_tagged(here, capsys):
    assert cli.main(["new", "mine", "--train", "a.en", "a.de", *ADDED]) == 0
    output = capsys.readouterr().out
    assert "added1: 170 pairs, repeat=2, tag=<bt>, b.en and b.de" in output
    assert "added2: 70 pairs, c.tsv (SHA-256" in output
    plain, raw_b = (read_lines(here / name) for name in ("mine/text/train.en", "b.en"))
    raw, tokens, targets, counts, to = made(here)
    b = [f"{TAG} {line}" for line in raw_b]
    assert raw == [*plain, *b, *b, *read_lines(here / "mine/text/added2.en")]
    assert counts["train"] == len(raw) == len(targets) == 270 + 2 * 170 + 70
    assert not any("bt" in line for line in targets)
    assert all(line.startswith(f"{TAG} Yet ") for line in tokens[270:610])
    # neither side of a held-out pair is anywhere in the training text
    for code, side in (("en", [line.removeprefix(f"{TAG} ") for line in raw]), ("de", targets)):
        for split in ("valid", "test"):
            held_out = read_lines(to / f"{split}.{code}")
            assert len(held_out) == 15 and not set(held_out) & set(side)


def test_notes_about_scores_know_the_added_text(here, capsys):
    """Its characters are known to a model, and its lines make scores too good."""
    for code, start in (("en", "Ŝi"), ("de", "")):
        lines = [f"{start} {line}".strip() for line in read_lines(here / f"b.{code}")]
        (here / f"d.{code}").write_text("\n".join(lines) + "\n", "utf-8")
        (here / f"v.{code}").write_text("\n".join(lines[-20:]) + "\n", "utf-8")
    sets = ["--train", "a.en", "a.de", "--valid", "v.en", "v.de"]
    assert cli.main(["new", "mine", *sets]) == 0
    assert "v.en: 20 of 20 lines have characters that a.en never has" in capsys.readouterr().out
    assert cli.main(["new", "other", *sets, "--add", "d.en", "d.de"]) == 0
    output = capsys.readouterr().out
    assert "v.de: 20 of 20 lines are also in d.de" in output and "never has" not in output


def test_a_tag_is_not_the_first_word_for_the_truecaser(here):
    words = ["--add", "b.en", "b.de", "tag=BT"]
    assert cli.main(["new", "mine", "--train", "a.en", "a.de", *words]) == 0
    _, tokens, *_ = made(here, text={"tokenizer": "moses", "casing": "truecase"})
    untagged = [line.removeprefix("BT ") for line in tokens]
    assert sum(line.startswith("BT ") for line in tokens) == 170
    (here / "mine/recipe.yaml").write_text(
        (here / "mine/recipe.yaml").read_text("utf-8").replace("tag: BT", ""), "utf-8"
    )
    _, tokens, *_ = made(here)
    assert untagged == tokens and any(line.startswith("yet ") for line in tokens)


def test_the_tag_is_on_the_source_of_the_other_direction(here):
    assert cli.main(["new", "mine", "--train", "a.en", "a.de", *ADDED]) == 0
    facts = load("mine").text_facts()
    raw, tokens, targets, *_ = made(here, directions=["de-en"])
    assert load("mine").source == "de" and load("mine").text_facts() != facts, "another stamp"
    for lines in (raw, tokens):
        assert sum(line.startswith(f"{TAG} ") for line in lines) == 340
    assert not any(TAG in line for line in targets)


def test_validation_text_by_a_rule_is_neither_repeated_nor_tagged(here):
    assert cli.main(["new", "mine", "--train", "a.en", "a.de", *ADDED]) == 0
    recipe = yaml.safe_load((here / "mine/recipe.yaml").read_text("utf-8"))
    splits = recipe["splits"] | {"valid": ["random 100"], "exclude_valid": False}
    raw, _, _, counts, to = made(here, splits=splits)
    valid = read_lines(to / "valid.en")
    assert counts["valid"] == 100 and not any(TAG in line for line in valid)
    assert any(line.startswith("Yet ") for line in valid), "some are from the repeated corpus"
    b = {f"{TAG} {line}" for line in valid}
    assert not b & set(raw), "no copy is trained on"
    trained, *_, counts, _ = made(here, sample=80, splits=splits)
    assert counts["train"] <= 100 and sum(TAG in line for line in trained) == 40


@pytest.mark.parametrize(
    ("words", "piece"),
    [
        (["b.en", "b.de", "repeat=0"], "repeat='0' is not a whole number from 1"),
        (["b.en", "b.de", "tag=two words"], "tag=two words: is no single word"),
        (["b.en", "b.de", "tag=<unk>"], "tag=<unk>: is no single word"),
        (["b.en", "b.de", "repaet=2"], "names 3 files"),
        (["b.de", "b.en"], "b.de and b.en are de and en by their endings, and --train is en and"),
        (["b.en", "a.de"], "b.en has 170 lines but a.de has 300"),
        (["WikiMatrix.en-fr.tsv"], "no pair in en and de; it has en, fr"),
    ],
)
def test_refused_in_one_sentence(here, capsys, words, piece):
    (here / "WikiMatrix.en-fr.tsv").write_text("a\tb\n")
    assert cli.main(["new", "mine", "--train", "a.en", "a.de", "--add", *words]) in (1, 2)
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and piece in message, message
    assert not (here / "mine").exists()


def test_from_python(here):
    files = [here / "a.en", here / "a.de"]
    with pytest.raises(UserError, match="no single word"):
        Added(files, tag="a@@")
    recipe, notes = make_recipe(
        NewOptions(here / "mine", files, add=[Added([here / "b.en", here / "b.de"])])
    )
    assert recipe.task.splits.train == ["train", "added1"] and "added1: 170 pairs" in notes[3]
    path = here / "mine/recipe.yaml"
    path.write_text(
        path.read_text("utf-8").replace("added1:\n", "added1:\n    tag: a b\n", 1), "utf-8"
    )
    with pytest.raises(UserError, match=r"parts\.added1\.tag"):
        load(str(here / "mine"))


def test_swapped_sides(here, capsys):
    """By the letters, where the names of the files do not say the languages."""
    lines = (here / "c.tsv").read_text("utf-8").splitlines()
    swapped = "\n".join("\t".join(reversed(line.split("\t"))) for line in lines)
    (here / "swapped.tsv").write_text(swapped + "\n", "utf-8")
    for flag in ("--add", "--valid", "--test"):
        assert cli.main(["new", "mine", "--train", "a.en", "a.de", flag, "swapped.tsv"]) == 1
        message = capsys.readouterr().err
        assert f"{flag}: by its letters, swapped.tsv (en) is in the language of a.de" in message
        assert message.count("\n") == 1 and not (here / "mine").exists()
    (here / "x.de-en.tsv").symlink_to("swapped.tsv")
    assert cli.main(["new", "mine", "--train", "a.en", "a.de", "--add", "x.de-en.tsv"]) == 0
