"""Readers of the campaigns' formats, and what they say about files that do not fit."""

from __future__ import annotations

import gzip
from pathlib import Path

import generated_files
import pytest

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.recipes.formats import read_pairs
from dc_nmt_plugin.laboratory.recipes.sources import extract

LANGUAGES = ("en", "de")
PAIRS = [("a & b", "ä"), ("<c> d", "e's"), ("f", "g h")]


def files(folder: Path, first: str | bytes, second: str | bytes) -> tuple[Path, Path]:
    paths = folder / "x.en", folder / "x.de"
    for path, text in zip(paths, (first, second), strict=True):
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return paths


def read(kind: str, paths: tuple[Path, Path]) -> list[tuple[str, str]]:
    return list(read_pairs(kind, paths))


@pytest.mark.parametrize("kind", ["iwslt-xml", "sgm"])
def test_segments(tmp_path, kind):
    write = generated_files.xml if kind == "iwslt-xml" else generated_files.sgm
    pairs = [("a & b", "ä"), ("d", "e's"), ("f", "g h")]
    sides = [write([pair[side] for pair in pairs], LANGUAGES[side]) for side in (0, 1)]
    assert read(kind, files(tmp_path, *sides)) == pairs


def test_segments_over_several_lines_and_with_other_attributes(tmp_path):
    text = '<SEG grp="1" id="7">\n one\n two </SEG>'
    assert read("sgm", files(tmp_path, text, '<seg id="7">x</seg>')) == [("one two", "x")]


def test_tag_files(tmp_path):
    lines = [f"line {n} & more" for n in range(25)]
    paths = files(tmp_path, generated_files.tags(lines, "en"), generated_files.tags(lines, "de"))
    assert read("iwslt-tags", paths) == [(line, line) for line in lines]


def test_only_a_line_feed_ends_a_line(tmp_path):
    paths = files(tmp_path, "\ufeffa\u2028b\x85c\r\nd\n", "x\ny")
    assert read("plain", paths) == [("a b c", "x"), ("d", "y")]
    packed = tmp_path / "x.en.gz"
    packed.write_bytes(gzip.compress(b"one\ntwo\n"))
    assert read("plain", (packed, paths[1])) == [("one", "x"), ("two", "y")]
    packed.write_bytes(gzip.compress(b"one\n" * 9000)[:-20])
    with pytest.raises(UserError, match=r"x.en.gz: cannot be decompressed"):
        read("plain", (packed, packed))


@pytest.mark.parametrize(
    ("kind", "first", "second", "message"),
    [
        ("plain", "a\nb\nc\n", "a\n", r"x.en has 3 lines but .*x.de has 1: line n of one must"),
        ("plain", "a\n", "a\nb\n", r"x.de has 2 lines but .*x.en has 1"),
        ("plain", b"a\nb\xff\n", "a\nb\n", r"x.en, line 2: byte 0xff is not valid UTF-8"),
        ("iwslt-tags", "<url>u</url>\na\n", "b\na\n", r"x.en, line 1: has metadata where .*x.de"),
        ("sgm", '<seg id="1">a</seg>', '<seg id="2">a</seg>', "segment 1: .* has id '1' where"),
        ("sgm", '<seg id="1">a</seg>' * 2, '<seg id="1">a</seg>', "has 2 segments but .* has 1"),
        ("sgm", "<seg>a</seg><seg>b", "<seg>a</seg>", "x.en: <seg> and </seg> do not alternate"),
    ],
)
def test_sides_that_do_not_fit(tmp_path, kind, first, second, message):
    with pytest.raises(UserError, match=message):
        read(kind, files(tmp_path, first, second))


@pytest.mark.parametrize("name", ["x.tgz", "x.zip"])
def test_members_of_archives(tmp_path, name):
    archive, target = tmp_path / name, tmp_path / "out/member"
    data = generated_files.pack(name, {"a/b.txt": b"text" * 999, "a/c.txt": b"other"})
    archive.write_bytes(data)
    extract(archive, "a/b.*", target)
    assert target.read_bytes() == b"text" * 999
    with pytest.raises(UserError, match=r"has no a/d.txt; it has a/b.txt, a/c.txt"):
        extract(archive, "a/d.txt", tmp_path / "no")
    archive.write_bytes(data[: len(data) // 2])
    with pytest.raises(UserError, match="damaged, truncated"):
        extract(archive, "a/c.txt", tmp_path / "no")
    assert not (tmp_path / "no").exists()
