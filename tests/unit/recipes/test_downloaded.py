"""``dc-nmt new`` with downloaded files: TSV, TMX, JSON lines, a zip of two files, packed text."""

from __future__ import annotations

import csv
import gzip
import re
import sys

import pytest
from downloads import packed, tmx, write_forms, zipped
from helpers import toy_text

from dc_nmt_plugin import cli
from dc_nmt_plugin.laboratory.recipes.downloaded import write_plain
from dc_nmt_plugin.laboratory.recipes.recipe import load
from dc_nmt_plugin.text import lines
from dc_nmt_plugin.text.lines import read_lines

PAIRS = toy_text("en", "de", 300, seed=3)
SIDES = dict(zip(("en", "de"), zip(*PAIRS, strict=True), strict=True))
GIVEN = ["--source-lang", "en", "--target-lang", "de"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with the same 300 pairs in every form."""
    folder = tmp_path_factory.mktemp("files")
    write_forms(folder, PAIRS)
    return folder


@pytest.fixture
def here(files, cwd):
    for path in files.iterdir():
        (cwd / path.name).symlink_to(path)
    return cwd


FORMS = {
    "a third column": (
        ["WikiMatrix.en-de.tsv"],
        "from en to de, as the file names them; columns 2 and 3",
    ),
    "ids before the text": (["ids.tsv", *GIVEN], "columns 2 and 4"),
    "several languages": (["three.tmx", *GIVEN], "2 pairs without text in en or de left out"),
    "JSON lines": (["set.jsonl"], "from en to de, as the file names them"),
    "zip": (["de-en.txt.zip", "--target-lang", "de"], "from en to de, as the file names them"),
}


@pytest.mark.parametrize(("words", "note"), FORMS.values(), ids=FORMS)
def test_every_form_gives_the_text_of_two_plain_files(here, capsys, words, note):
    for name, files in (("plain", ["a.en", "a.de"]), ("mine", words)):
        assert cli.main(["new", name, "--train", *files]) == 0, capsys.readouterr().err
    for split in ("train", "valid", "test"):
        for code in ("en", "de"):
            path = f"text/{split}.{code}"
            assert read_lines(here / "mine" / path) == read_lines(here / "plain" / path)
    assert load("mine").pair == ("en", "de")
    (line,) = re.findall("^# (train: .*)", (here / "mine/recipe.yaml").read_text(), re.M)
    assert line in capsys.readouterr().out and note in line and "SHA-256" in line
    assert "mine/text" not in line and sorted(p.name for p in here.glob("mine/*")) == [
        "recipe.yaml",
        "text",
    ]


@pytest.mark.parametrize("form", ["xz", "bz2", "gz", "zst"])
def test_packed_files(here, capsys, form):
    for code in SIDES:
        data = packed(form, (here / f"a.{code}").read_bytes())
        (here / f"a.{code}.{form}").write_bytes(data)
        (here / f"cut.{code}.{form}").write_bytes(data[: len(data) // 2])
        assert read_lines(here / f"a.{code}.{form}") == list(SIDES[code])
        (here / f"bad.{code}.{form}").write_bytes(data[:99] + b"\x00\xff" * 9 + data[117:])
    assert cli.main(["new", "mine", "--train", f"a.en.{form}", f"a.de.{form}"]) == 0
    recipe = load("mine")
    assert recipe.pair == ("en", "de")
    capsys.readouterr()
    for name in ("cut", "bad"):
        assert cli.main(["new", name, "--train", f"a.en.{form}", f"{name}.de.{form}"]) == 1
        message = capsys.readouterr().err
        assert f"{name}.de.{form}: cannot be decompressed" in message
        assert message.count("\n") == 1 and not (here / name).exists()


def test_a_report_names_the_download(here, capsys):
    rows = ["a <pad>\tb", *map("\t".join, PAIRS)]
    (here / "bad.en-de.tsv").write_text("".join(f"{row}\n" for row in rows), "utf-8")
    assert cli.main(["new", "mine", "--train", "bad.en-de.tsv", "--report", "problems"]) == 1
    assert (here / "problems").read_text() == "bad.en-de.tsv (en)\t1\tsymbol\t<pad>\n"


def test_without_a_reader_of_zstd(here, monkeypatch, capsys):
    (here / "a.en.zst").write_bytes(lines.ZSTD)

    for name in ("backports.zstd", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    assert cli.main(["new", "mine", "--train", "a.en.zst", "a.de"]) == 1
    assert "pip install 'dc_nmt_plugin[zstd]'" in capsys.readouterr().err


def test_sides_are_put_in_order(here):
    """By the name of the file, or by the flags where the name has no languages."""
    for name, words in (
        ("named", ["WikiMatrix.en-de.tsv", "--source-lang", "de"]),
        ("flags", ["two.tsv", "--source-lang", "de", "--target-lang", "en"]),
    ):
        sets = ["--valid", "WikiMatrix.en-de.tsv", "--test", "set.jsonl"]
        assert cli.main(["new", name, "--train", *words, *sets]) == 0
        assert load(name).pair == ("de", "en")
        for split in ("train", "valid", "test"):
            assert read_lines(here / name / f"text/{split}.de") == list(SIDES["de"])


# form of a row, the first line of the file, and what the origin says
COLUMNS = {
    "domains": ("www.{n}.com\ta.de\t0.{n}\t{a}\t{b}", "", "columns 4 and 5, en "),
    "language codes": ("eng\tdeu\t{a}\t{b}", "", "columns 3 and 4, en "),
    "a header over numbers": ("{n}\t{a}\t{b}", "index\toriginal\tmt\n", "line 1 is a header"),
    "blank lines": ("{a}\t{b}\n", "", "columns 1 and 2, en "),
    "identifiers": ("train-{n}\t{a}\t{b}\t-1.{n}e-5", "", "columns 2 and 3, en "),
    "files": ("clip_{n}.mp3\t{a}\t{b}", "path\tsentence\tmt\n", "columns 2 and 3, en "),
    "a header": ("{a}\t{b}", "Source\tTarget\n", "line 1 is a header"),
    "a header with languages": ("{b}\t{a}", "de\ten\n", f'de "{PAIRS[98][1]:.30}" and en "'),
}


@pytest.mark.parametrize(("row", "first", "note"), COLUMNS.values(), ids=COLUMNS)
def test_columns_with_the_text(tmp_path, row, first, note):
    rows = (row.format(n=n, a=a, b=b) + "\n" for n, (a, b) in enumerate(PAIRS))
    (tmp_path / "x.en-de.tsv").write_text(first + "".join(rows), "utf-8")
    _, paths, origin = write_plain("--train", tmp_path / "x.en-de.tsv", ("en", "de"), tmp_path, "t")
    assert [read_lines(path) for path in paths] == [list(SIDES["en"]), list(SIDES["de"])]
    assert note in origin and ("header" in origin) == bool(first)


def test_cells_that_a_csv_writer_has_quoted(tmp_path):
    texts = [('He said "yes".', '"Ja", sagte er.'), ('"', '"Ja" und "Nein"'), ("It's", '"a"')]
    with (tmp_path / "x.tsv").open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, delimiter="\t").writerows(texts[:2])
        out.write("\t".join(texts[2]) + "\n")
    _, paths, _ = write_plain("--train", tmp_path / "x.tsv", ("en", "de"), tmp_path, "t")
    assert list(zip(*map(read_lines, paths), strict=True)) == texts


def test_text_of_a_unit_is_one_line(tmp_path):
    """Without markup; also in UTF-16, as many programs write it."""
    seg = "\n café &amp;\u00a0a\n\tb <ph>&lt;x/&gt;<sub>c</sub></ph><hi>d</hi>\u2028e "
    text = tmx([[('xml:lang="en"', seg), ('xml:lang="fr"', "f")]])
    text = text.replace('version="1.0"', 'version="1.0" encoding="UTF-16"')
    (tmp_path / "a.tmx").write_text(text, "utf-16")
    languages, paths, _ = write_plain("--train", tmp_path / "a.tmx", (None, None), tmp_path, "t")
    assert languages == ("en", "fr")
    assert paths[0].read_text("utf-8") == "café &\u00a0a b d e\n"


BOMB = '<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><tmx>&b;</tmx>'
# files that are written → words after --train, and pieces of the sentence
REFUSED = {
    "no languages": ("two.tsv", None, [], ["two.tsv names no languages", "--source-lang"]),
    "three languages": ("three.tmx", None, [], ["has fr, de, en: give --source-lang"]),
    "a third language in a later unit": (
        "late.tmx",
        tmx([[('lang="en"', "a"), ('lang="de"', "b")], [('lang="en"', "a"), ('lang="fr"', "b")]]),
        [],
        ["has en, de, fr: give --source-lang"],
    ),
    "another language in TMX": (
        "three.tmx",
        None,
        ["--source-lang", "es", "--target-lang", "de"],
        ["no pair in es and de; it has fr, de, en"],
    ),
    "another language in JSON": (
        "set.jsonl",
        None,
        ["--source-lang", "es"],
        ["no pair in es and en; it has en, de"],
    ),
    "another language in the name": (
        "WikiMatrix.en-de.tsv",
        None,
        ["--target-lang", "es"],
        ["no pair in en and es; it has en, de"],
    ),
    "no language of a text": (
        "bare.tmx",
        tmx([[('lang="en"', "a"), ("", "b")]]),
        GIVEN,
        ["no pair in en and de; it has en\n"],
    ),
    "a language without a code of its own": (
        "toki.tmx",
        tmx([[('lang="en"', "a"), ('lang="toki"', "b")]]),
        [],
        ["has en, toki: give --source-lang"],
    ),
    "one language": ("a.en", None, ["a.en"], ["both sides are en; give --target-lang"]),
    "a web page": ("x.en-de.tmx", "<!DOCTYPE html><p>404</p>", [], ["is no TMX"]),
    "one plain file": ("a.en", None, [], ["no columns with a tab", "give two files"]),
    "entities": ("bomb.tmx", BOMB, GIVEN, ["bomb.tmx declares entities"]),
    "cut TMX": ("cut.tmx", lambda whole: whole("three.tmx")[:9000], GIVEN, ["truncated XML"]),
    "cut TSV": (
        "cut.tsv",
        lambda whole: whole("ids.tsv") + b"301\tand",
        GIVEN,
        ["cut.tsv, line 301: has 2 columns, and column 4 is needed"],
    ),
    "cut JSON": (
        "cut.jsonl",
        lambda whole: whole("set.jsonl")[:-9],
        [],
        ["cut.jsonl, line 599: is not as", "truncated"],
    ),
    "JSON of another form": ("b.json", '{"en": "a", "de": "b"}\n', [], ["line 1: is not as"]),
    "a cell of two lines": (
        "two.en-de.tsv",
        "a\tb\nhalf\n\tb\n",
        [],
        ["two.en-de.tsv, line 2: has 1 column, and column 2 is needed"],
    ),
    "no UTF-8": ("b.tsv", b"a\tb\n\xff\tb\n", GIVEN, ["b.tsv, line 2: byte 0xff"]),
    "cut zip": (
        "cut.zip",
        lambda whole: whole("de-en.txt.zip")[:999],
        [],
        ["cut.zip: cannot be read"],
    ),
    "a zip of an unknown compression": (
        "bad.zip",
        lambda whole: whole("de-en.txt.zip").replace(b"\x14\0\0\0\x08\0", b"\x14\0\0\0\x63\0"),
        [],
        ["bad.zip: cannot be read: That compression method is not supported"],
    ),
    "cut gzip": (
        "cut.tmx.gz",
        lambda whole: gzip.compress(whole("three.tmx"))[:999],
        GIVEN,
        ["cut.tmx.gz: cannot be decompressed"],
    ),
}


@pytest.mark.parametrize(("name", "content", "words", "pieces"), REFUSED.values(), ids=REFUSED)
def test_refused_in_one_sentence_and_nothing_is_left(here, capsys, name, content, words, pieces):
    if callable(content):
        content = content(lambda other: (here / other).read_bytes())
    if content is not None:
        (here / name).write_bytes(content.encode() if isinstance(content, str) else content)
    before = sorted(here.iterdir())
    assert cli.main(["new", "mine", "--train", name, *words]) in (1, 2)
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and all(piece in message for piece in pieces), message
    assert sorted(here.iterdir()) == before


def test_a_zip_of_other_files(here, capsys):
    zipped(here / "fra-eng.zip", {"fra.txt": "a\tb\n"})
    assert cli.main(["new", "mine", "--train", "fra-eng.zip"]) == 1
    assert "but README, LICENSE, fra.txt; unpack it" in capsys.readouterr().err
    text = "a\nb\n"
    zipped(here / "sets.zip", dict.fromkeys(["dev.en", "dev.de", "train.en", "train.de"], text))
    assert cli.main(["new", "mine", "--train", "sets.zip"]) == 1
    assert "but README, LICENSE, dev.en, dev.de, train.en, train.de" in capsys.readouterr().err
    zipped(here / "mac.zip", {"a.en": text, "__MACOSX/._a.en": "x", "a.de": text})
    _, paths, _ = write_plain("--train", here / "mac.zip", ("en", "de"), here, "t")
    assert paths[0].read_text("utf-8") == text
    zipped(here / "short.zip", {"a.en": "a\nb\n", "a.de": "a\n"})
    assert cli.main(["new", "mine", "--train", "short.zip"]) == 1
    assert "short.zip: a.en has 2 lines but short.zip: a.de has 1" in capsys.readouterr().err


def test_a_problem_of_the_text_names_the_download(here, capsys):
    rows = [f"{a} &auml;&ouml;\t{b}\n" for a, b in PAIRS]
    (here / "entities.en-de.tsv").write_text("".join(rows), "utf-8")
    assert cli.main(["new", "mine", "--train", "entities.en-de.tsv"]) == 1
    output, message = capsys.readouterr()
    assert "--train: entities.en-de.tsv (en), line 1: has the HTML entity &auml;" in message
    assert "entities.en-de.tsv (en), line 1" in output and ".mine" not in output + message
