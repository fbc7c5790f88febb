"""``dc-nmt new``: what it chooses for a corpus and says of it, and what it refuses."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
from dataclasses import replace

import pytest
from helpers import toy_text

from dc_nmt_plugin import cli
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.raw_text.preparation import tokenise
from dc_nmt_plugin.laboratory.raw_text.tokenizers import detokenize
from dc_nmt_plugin.laboratory.recipes.corpora import Corpora
from dc_nmt_plugin.laboratory.recipes.new_recipe import NewOptions, make_recipe
from dc_nmt_plugin.laboratory.recipes.recipe import load
from dc_nmt_plugin.laboratory.recipes.settings import settings_of
from dc_nmt_plugin.laboratory.recipes.sources import Sources
from dc_nmt_plugin.laboratory.recipes.splits import make_text
from dc_nmt_plugin.text.lines import read_lines

PAIRS = 400


@pytest.fixture
def here(cwd):
    """A folder with 400 pairs, of which ten are there twice."""
    every = toy_text("de", "en", PAIRS + 30, seed=3)
    train = every[: PAIRS - 10]
    for name, pairs in (("a", train + train[:10]), ("v", every[-40:-20]), ("t", every[-20:])):
        for side, code in enumerate(("de", "en")):
            lines = [pair[side] for pair in pairs]
            (cwd / f"{name}.{code}").write_text("\n".join(lines) + "\n", "utf-8")
    return cwd


def refused(capsys, *words):
    code = cli.main(["new", *map(str, words)])
    message = capsys.readouterr().err
    assert code in (1, 2) and message.count("\n") == 1, message
    return message


def test_what_is_not_given_is_held_out_and_not_trained_on(here, capsys):
    assert cli.main(["new", "mine", "--train", "a.de", "a.en"]) == 0
    output = capsys.readouterr().out
    assert "held out of --train (seed 1)" in output and "dc-nmt run mine" in output
    text = here / "mine/text"
    count = {split: len(read_lines(text / f"{split}.de")) for split in ("train", "valid", "test")}
    assert count == {"train": PAIRS - 40, "valid": 20, "test": 20}
    trained = set(read_lines(text / "train.de")), set(read_lines(text / "train.en"))
    pairs = list(zip(read_lines(here / "a.de"), read_lines(here / "a.en"), strict=True))
    for split in ("valid", "test"):
        held = [read_lines(text / f"{split}.{code}") for code in ("de", "en")]
        for pair in zip(*held, strict=True):
            assert pair in pairs
            assert pair[0] not in trained[0] and pair[1] not in trained[1], "seen in training"
    again = make_recipe(NewOptions(here / "again", [here / "a.de", here / "a.en"]))
    assert read_lines(here / "again/text/test.de") == read_lines(text / "test.de")
    assert again[1][0].startswith("train: 360 pairs")


def test_given_sets_are_used_where_they_are(here, capsys):
    files = ["--train", "a.de", "a.en", "--valid", "v.de", "v.en", "--test", "t.de", "t.en"]
    assert cli.main(["new", "sub/mine", "transformer_dc", "gru_selfattn_residual", *files]) == 0
    assert not (here / "sub/mine/text").exists()
    recipe = load("sub/mine")
    assert recipe.cli_name == "sub/mine" and recipe.folder == "mine" and recipe.pair == ("de", "en")
    assert recipe.task.archs == ["transformer_dc", "gru_selfattn_residual"]
    assert recipe.local(recipe.task.files["test.en"]).resolve() == here / "t.en"
    assert load("sub/mine/recipe.yaml").path == load(str(here / "sub/mine/")).path.relative_to(here)
    assert recipe.output_folder("mine", None, None) == recipe.path.parent


def test_given_and_held_out_sets_have_nothing_in_common(here, capsys):
    """Not even where the given test set is a part of the training text."""
    for code in ("de", "en"):
        part = read_lines(here / f"a.{code}")[20:60]
        (here / f"t.{code}").write_text("\n".join(part) + "\n", "utf-8")
    assert cli.main(["new", "mine", "--train", "a.de", "a.en", "--test", "t.de", "t.en"]) == 0
    assert not set(read_lines(here / "mine/text/valid.de")) & set(read_lines(here / "t.de"))
    words = ["--train", "a.de", "a.en", "--valid", "t.de", "t.en", "--test", "v.de", "v.en"]
    capsys.readouterr()
    assert cli.main(["new", "other", *words]) == 0
    recipe = load("other")
    assert recipe.task.splits.exclude_valid and recipe.task.splits.exclude_test
    sources = Sources(recipe, None, here, lambda _: None)
    make_text(Corpora(sources, here / "work", None, False), here / "text")
    assert not set(read_lines(here / "text/train.de")) & set(read_lines(here / "t.de"))


def test_the_recipe_is_a_recipe(here):
    recipe, notes = make_recipe(NewOptions(here / "mine", [here / "a.de", here / "a.en"]))
    settings = settings_of(recipe, "transformer_dc")
    assert settings.updates == 600 and settings.tokens == 2048
    bpe = recipe.task.bpe["default"]
    assert (bpe.max_tokens, bpe.ratio) == (250, 9), "longer pairs are left out of the training"
    assert "--share-all-embeddings" in settings.flags
    recurrent = settings_of(recipe, "gru_selfattn_residual")
    assert "--hidden-dim" in recurrent.flags and recurrent.updates == 300
    with pytest.raises(UserError, match="size"):
        settings_of(recipe, "transformer_dc", "huge")
    written = (here / "mine/recipe.yaml").read_text()
    assert written.startswith("# Made by dc-nmt new")
    assert all(f"\n# {note}\n" in written for note in notes)
    other = NewOptions(here / "other", [here / "a.de", here / "a.en"], tokenized=True, bpe=321)
    task = make_recipe(other)[0].task
    assert task.text.tokenizer == "none" and task.bpe["default"].operations == 321


def test_gzipped_files_and_codes(here):
    for code in ("de", "en"):
        with gzip.open(here / f"train.{code}-XX.txt.gz", "wb") as out:
            out.write((here / f"a.{code}").read_bytes())
    paths = [here / "train.de-XX.txt.gz", here / "train.en-XX.txt.gz"]
    with pytest.raises(UserError, match=r"does not end in a language such as \.de: give --source"):
        make_recipe(NewOptions(here / "mine", paths))
    recipe, _ = make_recipe(NewOptions(here / "mine", paths, source_lang="de", target_lang="en"))
    assert recipe.pair == ("de", "en")


def test_half_of_the_lines_may_be_the_same(here, capsys):
    """Names and numbers, say; from there on it is one language twice."""
    source, target = (read_lines(here / f"a.{code}") for code in ("de", "en"))
    for same in (PAIRS // 2, PAIRS // 2 + 1):
        lines = source[:same] + target[same:]
        (here / "mixed.en").write_text("\n".join(lines) + "\n", "utf-8")
        code = cli.main(["new", f"mine{same}", "--train", "a.de", "mixed.en"])
        assert (code == 0) is (same == PAIRS // 2), capsys.readouterr().err
    assert "201 of 400 lines are the same" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "pieces"),
    [
        (["wmt14_en_de", "--train", "a.de", "a.en"], ["'wmt14_en_de' is a published task's name"]),
        (["mine", "--train", "t.de", "t.en"], ["20 pairs, too few", "200 are the least"]),
        (["mine", "--train", "a.de", "copy.en"], ["400 of 400 lines are the same"]),
        (
            ["mine", "--train", "a.de", "a.en", "--test", "t.en", "t.de"],
            ["are en and de by their endings, and --train is de and en, in this"],
        ),
        (
            ["mine", "--train", "a.de", "a.en", "--test", "gap.de", "t.en"],
            ["gap.de, line 3: the line is blank"],
        ),
        (
            ["mine", "--train", "a.de", "a.en", "transformer_cd"],
            ["'transformer_dc'?"],
        ),
        (["mine", "--train", "a.de", "ja.en", "--target-lang", "ja"], ["ja has no spaces"]),
        (["mine", "--train", "a.de", "pipe.en"], ["pipe.en: cannot be read: a pipe is read once"]),
        (["a,b/mine", "--train", "a.de", "a.en"], ["'a,b/mine' has a ':' or ','"]),
    ],
)
def test_refused_in_one_sentence_and_nothing_is_left(words, pieces, here, capsys):
    (here / "copy.en").write_bytes((here / "a.de").read_bytes())
    gap = read_lines(here / "t.de")
    (here / "gap.de").write_text("\n".join([*gap[:2], " ", *gap[3:]]) + "\n")
    unspaced = [f"これは長い文で、空白がありません{n}番目" for n in range(PAIRS)]
    os.mkfifo(here / "pipe.en")  # nobody writes into it: opening it would wait for ever
    (here / "ja.en").write_text("\n".join(unspaced) + "\n", "utf-8")
    message = refused(capsys, *words)
    for piece in pieces:
        assert piece in message
    assert len(message) < 400 and not (here / "mine").exists()


def test_a_recipe_needs_no_torch(here):
    """It would be three quarters of the memory of ``dc-nmt new``."""
    code = "import sys; from dc_nmt_plugin import cli; cli.main(sys.argv[1:]); print(*sys.modules)"
    words = ["new", "mine", "--train", "a.de", "a.en"]
    shown = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    modules = shown.stdout.splitlines()[-1].split()
    assert "dc_nmt_plugin.laboratory.recipes.new_recipe" in modules and "torch" not in modules


def test_text_that_changed_is_noticed(here, capsys):
    train, valid, test = ([here / f"{name}.{code}" for code in ("de", "en")] for name in "avt")
    make_recipe(NewOptions(here / "mine", train, valid, test))
    before = load("mine").text_facts()
    assert cli.main(["recipe", "text", "mine", "--work", "w", "--out", "to"]) == 0
    assert len(read_lines(here / "to/test.en")) == 20
    assert list((here / "w").rglob("*.en")) == [], "intermediate copies are removed"
    # also a change that keeps the size
    (here / "t.en").write_text("\n".join(reversed(read_lines(here / "t.en"))) + "\n", "utf-8")
    later = (here / "t.en").stat().st_mtime + 10
    os.utime(here / "t.en", (later, later))
    recipe = here / "mine/recipe.yaml"
    recipe.write_text(f"# edited after that\n{recipe.read_text('utf-8')}", "utf-8")
    assert load("mine").text_facts() != before, "it would be taken for prepared"
    capsys.readouterr()
    assert cli.main(["recipe", "text", "mine", "--work", "w", "--out", "to"]) == 1
    assert "t.en: has changed since the recipe was made" in capsys.readouterr().err
    (here / "t.en").unlink()
    assert cli.main(["recipe", "text", "mine", "--work", "w2", "--out", "to"]) == 1
    assert "t.en: is not there any more" in capsys.readouterr().err


def recipe_of(folder, source, target, codes):
    """The recipe of 300 lines of one sentence."""
    paths = []
    for code, line in zip(codes, (source, target), strict=True):
        paths.append(folder / f"text.{code}")
        paths[-1].write_text("".join(f"{line} {n}\n" for n in range(300)), "utf-8")
    return make_recipe(NewOptions(folder / f"to-{codes[1]}", paths))[0]


def test_two_alphabets_have_two_dictionaries(tmp_path):
    russian = recipe_of(tmp_path, "дом у озера, окна", "a house by the lake", ("ru", "en"))
    settings = settings_of(russian, "transformer_dc")
    assert settings.arch == "transformer_dc_unshared"
    assert "--share-all-embeddings" not in settings.flags
    assert russian.task.bpe["default"].dictionary == "separate"
    assert "(Transformers are trained as ARCH_unshared)" in russian.path.read_text()
    assert settings_of(russian, "transformer").arch == "transformer"  # fairseq's: sizes are flags
    numbers = recipe_of(tmp_path, "7, 8", "une maison, un lac", ("en", "fr"))
    assert numbers.task.bpe["default"].dictionary == "separate", "no letter of the source"
    chinese = "湖边的房子有很多窗户和门吗真的"
    recipe = recipe_of(tmp_path, "a house by the lake", chinese, ("en", "zh"))
    assert settings_of(recipe, "transformer_dc").main_metric == "zh"


@pytest.mark.parametrize(
    ("code", "sentence"),
    [("hi", "घर में कई दरवाज़े हैं।"), ("fa", "او به خانه می‌رود، نه؟")],
)
def test_text_that_moses_cannot_give_back(tmp_path, code, sentence):
    """Its detokeniser leaves signs apart: a perfect translation would have a BLEU of 8 to 65."""
    text = recipe_of(tmp_path, "a house by the lake", sentence, ("en", code)).task.text
    assert text.tokenizer == "split"
    (tokens,) = tokenise([sentence], code, text)
    assert tokens != sentence and detokenize([tokens], text.scored_as, code) == [sentence]
    # the signs of vowels stay with their letters
    assert len(tokens.split()) <= len(sentence.split()) + 2


@pytest.mark.parametrize("sentence", ["私は学生です。", "ข้าวอร่อยมาก", "ខ្ញុំទៅផ្ទះឥឡូវនេះ"])
def test_short_lines_without_spaces(tmp_path, sentence):
    with pytest.raises(UserError, match="no spaces between its words"):
        recipe_of(tmp_path, "a house by the lake", sentence, ("en", "ja"))


def test_text_without_words_is_segmented_as_it_is(tmp_path):
    paths = [tmp_path / "a.en", tmp_path / "a.ja"]
    for path, line in zip(paths, ("a house <2ja>", "湖の家です。"), strict=True):
        path.write_text("".join(f"{line} {n}\n" for n in range(300)), "utf-8")
    options = NewOptions(tmp_path / "mine", paths, segment="sentencepiece", bpe=700)
    recipe, notes = make_recipe(options)
    bpe = recipe.task.bpe["default"]
    assert (bpe.segment, bpe.operations, bpe.joint) == ("sentencepiece", 700, False)
    assert recipe.task.text.tokenizer == "raw" and recipe.task.text.scored_as == "none"
    settings = settings_of(recipe, "transformer_dc")
    assert settings.decode[-2:] == ("--remove-bpe", "sentencepiece")
    assert settings.main_metric in ("char", "sacrebleu")  # of words, where MeCab is
    assert any(note.startswith("sentencepiece: 700 pieces (--bpe); two dict") for note in notes)
    assert not any(note.startswith("tags: ") for note in notes)


def test_the_settings_of_a_published_task(here, capsys):
    words = ["--train", "a.de", "a.en", "--like", "iwslt14_en_es", "--bpe", "321"]
    assert cli.main(["new", "mine", "transformer_standard", *words]) == 0
    assert "\nlike iwslt14_en_es (IWSLT 2014 Spanish-English): its " in capsys.readouterr().out
    mine, published = load("mine"), load("iwslt14_en_es")
    assert mine.task.bpe["default"].operations == 321
    mine.task.bpe["default"].operations = published.task.bpe["default"].operations
    assert mine.task.bpe == published.task.bpe
    for arch in ("transformer_standard", "transformer_dc", "gru_selfattn_residual"):
        expected = replace(settings_of(published, arch), main_metric="mteval-v13a")
        assert settings_of(mine, arch) == expected, "the dual context's, in this direction"
    assert cli.main(["new", "other", *words[:3], "--like", "mine"]) == 0
    assert load("other").task.settings == mine.task.settings
    assert "task: 'x' is not one of" in refused(capsys, "third", *words[:3], "--like", "x")
    assert not (here / "third").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [("fish &amp; chips", "the HTML entity &amp;"), ("a <unk> word", "<unk>"),
     ("CafÃ© au lait", "Latin-1")],
)  # fmt: skip
def test_references_that_cannot_be_scored_with(here, capsys, line, words):
    """Not after the training, when dc-nmt score would refuse them."""
    path = here / "t.en"
    path.write_text("\n".join([line, *read_lines(path)[1:]]) + "\n", "utf-8")
    message = refused(capsys, "mine", "--train", "a.de", "a.en", "--test", "t.de", "t.en")
    assert "--test: t.en, line 1: " in message and words in message and not (here / "mine").exists()


def test_a_folder_that_programs_take_for_something_else(here, capsys):
    make_recipe(NewOptions(here / "mine", [here / "a.de", here / "a.en"]))
    for name in ("a,b", "a:b", "${x}"):
        (here / name).symlink_to(here / "mine")
        for words in (["run", f"./{name}"], ["prepare", "mine", "--out", f"./{name}"]):
            assert cli.main(words) == 2
            assert f"'{name}' " in capsys.readouterr().err, "not by this name"


# in the recipe → in its place, what the one sentence names
WRONG_FLAGS = {
    "decode: --beam 5": ("decode: --nonsense", "decode of transformer_dc: --nonsense"),
    "--optimizer adam": ("--optimiser adam", "flags of transformer_dc: --optimiser"),
}


@pytest.mark.parametrize("old", WRONG_FLAGS)
def test_wrong_flags_of_a_recipe_are_refused_before_anything_is_prepared(here, capsys, old):
    make_recipe(NewOptions(here / "mine", [here / "a.de", here / "a.en"], archs=["transformer_dc"]))
    new, named = WRONG_FLAGS[old]
    path = here / "mine/recipe.yaml"
    content = path.read_text("utf-8")
    assert old in content
    path.write_text(content.replace(old, new), "utf-8")
    capsys.readouterr()
    assert cli.main(["run", "mine", "--max-update", "5"]) == 1
    message = capsys.readouterr().err
    assert message.startswith(f"dc-nmt run: error: mine/recipe.yaml: settings, {named}"), message
    assert message.count("\n") == 1 and not (here / "mine/data").exists()


def test_text_that_is_tokenised_on_purpose_is_no_problem(here, capsys):
    for code in ("de", "en"):
        lines = [
            f"{line} , {number} ." for number, line in enumerate(read_lines(here / f"a.{code}"))
        ]
        (here / f"a.{code}").write_text("\n".join(lines) + "\n", "utf-8")
    assert cli.main(["new", "mine", "--train", "a.de", "a.en", "--tokenized"]) == 0
    assert cli.main(["recipe", "text", "mine", "--work", "w", "--out", "to"]) == 0
    assert "tokenised" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("mark", "tokens"), [("<2en>", "&lt; 2en &gt;"), ("__NUM_1__", "_ _ NUM"), ("｟1：x｠", "｟ 1")]
)
def test_tags_and_placeholders_are_named(here, mark, tokens):
    path = here / "a.de"
    path.write_text("".join(f"{mark} {line}\n" for line in read_lines(path)), "utf-8")
    options = NewOptions(here / "mine", [path, here / "a.en"])
    _, notes = make_recipe(options)
    (note,) = (note for note in notes if note.startswith("tags: "))
    assert repr(mark) in note and tokens in note and "--tokenized" in note
    kept = replace(options, folder=here / "kept", tokenized=True)
    assert not [note for note in make_recipe(kept)[1] if note.startswith("tags: ")]


def test_no_copy_and_no_word_against_many_is_held_out(here):
    german, english = ((here / f"a.{code}").read_text().splitlines() for code in ("de", "en"))
    draw = random.Random(5)
    copies, uneven = draw.sample(range(400), 60), draw.sample(range(400), 60)
    for place in copies:
        german[place] = english[place]
    for number, place in enumerate(uneven):
        english[place], german[place] = f"Lake{number}!", f"{german[place]} " * 6
    for code, lines in (("de", german), ("en", english)):
        (here / f"a.{code}").write_text("".join(f"{line}\n" for line in lines))
    assert cli.main(["new", "mine", "--train", "a.de", "a.en"]) == 0
    for split in ("valid", "test"):
        held_out = (here / f"mine/text/{split}.en").read_text().splitlines()
        places = set(map(english.index, held_out))
        assert len(places) == 20 and not places & {*copies, *uneven}
