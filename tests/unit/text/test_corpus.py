"""The embedded corpus and the checks of parallel text."""

from __future__ import annotations

import gzip
import hashlib
import json
import unicodedata

import pytest

from dc_nmt_plugin.commands import check_text
from dc_nmt_plugin.commands.corpus import main
from dc_nmt_plugin.commands.split_text import main as split_text
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.text.corpus.chinese_numbers import chinese_number
from dc_nmt_plugin.text.corpus.codes import LANGUAGES
from dc_nmt_plugin.text.corpus.generate import make_corpus
from dc_nmt_plugin.text.tokenizers import join_line, split_line

SMALL = 300


def command(out, *, source="en", target="de", pairs=SMALL, seed=1):
    flags = f"--source-lang {source} --target-lang {target} --pairs {pairs} --seed {seed}"
    return main([*flags.split(), "--out", str(out)])


def digests(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


def test_two_runs_write_the_same_bytes_and_the_manifest_holds_their_digests(tmp_path):
    assert command(tmp_path / "a") == 0
    assert command(tmp_path / "b") == 0
    assert command(tmp_path / "c", seed=2) == 0
    first, second, other = (digests(tmp_path / name) for name in "abc")
    assert first == second
    assert first["train.de"] != other["train.de"]
    manifest = json.loads((tmp_path / "a/manifest.json").read_text())
    assert {name: file["sha256"] for name, file in manifest["files"].items()} == {
        name: digest for name, digest in first.items() if name != "manifest.json"
    }
    assert manifest["files"]["test.en"]["lines"] == SMALL // 10
    assert sorted(first) == sorted([*manifest["files"], "manifest.json"])  # no temporary is left


@pytest.mark.parametrize("target", [lang for lang in LANGUAGES if lang != "en"])
def test_every_language_makes_clean_distinct_lines(target):
    corpus = make_corpus("en", target, pairs=SMALL, seed=3)
    pairs = [pair for split in corpus.splits().values() for pair in split]
    assert [len(split) for split in corpus.splits().values()] == [SMALL - 60, 30, 30]
    for side in zip(*pairs, strict=True):
        assert len(set(side)) == SMALL  # so the parts are disjoint on both sides
        for line in side:
            assert line and line == unicodedata.normalize("NFC", line)
            assert line == " ".join(line.split()) and line.isprintable()
    # A unit or name that CLDR lacks would show as its code, such as "3 length-kilometer".
    assert not any("-kilo" in t or "volume-" in t or "length-" in t for _, t in pairs)


def test_any_two_languages_can_be_paired():
    corpus = make_corpus("vi", "zh", pairs=100, seed=1)
    assert len(corpus.train) == 80
    assert any("年" in target for _, target in corpus.train)


def test_phrases_are_translations_of_each_other():
    corpus = make_corpus("en", "de", pairs=3000, seed=1)
    single = dict(pair for split in corpus.splits().values() for pair in split)
    known = {"Sunday": "Sonntag", "March": "März", "seven": "sieben", "Germany": "Deutschland"}
    hits = 0
    for source, target in single.items():
        for english, german in known.items():
            if english in source.replace(",", "").split():
                hits += 1
                assert german.lower() in target.lower()
    assert hits > 100


@pytest.mark.thorough
def test_the_default_size_is_reachable_and_disjoint():
    corpus = make_corpus("en", "fr", pairs=21_000, seed=1)
    assert [len(split) for split in corpus.splits().values()] == [20_000, 500, 500]
    for side in (0, 1):
        train = {pair[side] for pair in corpus.train}
        assert not any(pair[side] in train for pair in corpus.valid + corpus.test)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "零"), (7, "七"), (10, "十"), (12, "十二"), (20, "二十"), (101, "一百零一"),
        (112, "一百一十二"), (120, "一百二十"), (1_000, "一千"), (1_001, "一千零一"),
        (1_010, "一千零一十"), (1_100, "一千一百"), (10_000, "一万"), (10_500, "一万零五百"),
        (105_000, "十万五千"), (100_001, "十万零一"), (30_203, "三万零二百零三"),
        (12_345_678, "一千二百三十四万五千六百七十八"),
    ],
)  # fmt: skip
def test_chinese_number(number, words):
    assert chinese_number(number) == words


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "xx"}, "--target-lang: 'xx' is not one of en, de, es, fr"),
        ({"source": "DE"}, "--source-lang: 'DE' is not one of"),
        ({"target": "en"}, "--source-lang, --target-lang: both are en; choose two"),
        ({"pairs": 99}, "--pairs 99: too few, at least 100"),
    ],
)
def test_bad_corpus_flags_are_one_sentence(tmp_path, change, message):
    with pytest.raises(UserError) as error:
        command(tmp_path / "out", **change)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_unwritable_output_is_one_sentence(tmp_path):
    (tmp_path / "out").write_text("a file, not a folder")
    with pytest.raises(UserError, match=f"cannot write {tmp_path / 'out'}"):
        command(tmp_path / "out")


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (b"a\nb\n", b"a\n", "has 2 lines but"),
        (b"a\nb\n", b"a\nb\n\xff\n", "target, line 3: byte 0xff is not valid UTF-8"),
        (b"", b"a\n", "source: the file is empty"),
        (None, b"a\n", "source: cannot be read: No such file"),
        (b"a\n \n", b"a\nb\n", "source, line 2: the line is blank"),
        (b"a\nb\n", b"a\n\n", "target, line 2: the line is blank"),
    ],
)
def test_unusable_text_is_named_by_file_and_line(tmp_path, source, target, message):
    paths = [tmp_path / "source", tmp_path / "target"]
    for path, content in zip(paths, (source, target), strict=True):
        if content is not None:
            path.write_bytes(content)
    with pytest.raises(UserError) as error:
        check_text.main([str(path) for path in paths])
    assert message in str(error.value) and "\n" not in str(error.value)


def test_usable_text_is_counted(tmp_path, capsys):
    paths = [tmp_path / "source", tmp_path / "target"]
    paths[0].write_bytes(b"a b c\nd")  # the last line feed may be missing
    paths[1].write_bytes(b"x\r\ny\r\n")
    assert check_text.main([str(path) for path in paths]) == 0
    assert ": 2 pairs" in capsys.readouterr().out


def test_splitting_separates_punctuation_and_digits():
    assert split_line("21. Juni, 06:46; 3/17") == "▁21 . ▁Juni , ▁06 : 46 ; ▁3 / 17"
    assert split_line("2014年3月 São–Tomé") == "▁2014 年 3 月 ▁São – Tomé"


@pytest.mark.parametrize("target", [lang for lang in LANGUAGES if lang != "en"])
def test_splitting_can_be_undone(target):
    corpus = make_corpus("en", target, pairs=SMALL, seed=4)
    for line in [line for pair in corpus.train for line in pair] + ["_a_ (b)…", "a\u0301 x² 5½"]:
        assert join_line(split_line(line)) == line


def test_split_text_command(tmp_path):
    (tmp_path / "a.en").write_text("3:04 PM\nfive\n")
    assert split_text([str(tmp_path / "a.en"), "--out", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out/a.en").read_text() == "▁3 : 04 ▁PM\n▁five\n"
    (tmp_path / "b.en").write_text("fine\n▁5\n")
    with pytest.raises(UserError, match=r"b\.en, line 2: has '▁'"):
        split_text([str(tmp_path / "b.en"), "--out", str(tmp_path / "out")])
    assert not (tmp_path / "out/b.en").exists()


def test_packed_text_is_split_into_plain_text(tmp_path):
    (tmp_path / "a.en.gz").write_bytes(gzip.compress(b"Hello, world!\n"))
    assert split_text([str(tmp_path / "a.en.gz"), "--out", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out/a.en").read_text("utf-8") == "▁Hello , ▁world !\n"
