"""Reads parallel text in the formats of the campaigns, as pairs of lines.

``plain``: a sentence a line (Moses style). ``iwslt-tags``: the same with lines of metadata between
talks. ``iwslt-xml`` and ``sgm``: a ``<seg>`` a sentence; neither is well-formed XML, so both are
read by pattern, as sacreBLEU does. ``tmx``: translation memories, parsed as XML in a stream.
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from xml.etree import ElementTree

from ..errors import UserError
from ..text.languages import known_as
from ..text.lines import opened, stream_lines

Pair = tuple[str, str]

_SEGMENT = re.compile(r"<(/?)seg\b([^<>]*)>", re.I)
_ID = re.compile(r'\bid\s*=\s*"?([^">\s]*)', re.I)
_KEPT_TAG = re.compile(r"</?(?:title|description)>", re.I)
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def read_pairs(
    kind: str, paths: tuple[Path, Path], languages: tuple[str, str], titles: bool = True
) -> Iterator[Pair]:
    """Yields the pairs of a corpus, including blank ones.

    Args:
        kind: one of the module's formats
        paths: of both languages; for ``tmx`` the same file twice
        languages: their codes
        titles: of ``iwslt-tags``, keep titles and descriptions

    Raises:
        UserError: the sides do not correspond, or bytes are not UTF-8 (the message has the line)
    """
    if kind == "plain":
        return _lines(paths)
    if kind == "iwslt-tags":
        return _tagged(paths, titles)
    if kind in ("iwslt-xml", "sgm"):
        return _segments(paths)
    if kind == "tmx":
        return _translation_units(paths[0], languages)
    raise UserError(f"{kind!r} is not a format of parallel text")


def _lines(paths: tuple[Path, Path]) -> Iterator[Pair]:
    first, second = (stream_lines(path, fix=True) for path in paths)
    return _together(paths, first, second, "line")


def _together(
    paths: tuple[Path, Path], first: Iterator[str], second: Iterator[str], what: str
) -> Iterator[Pair]:
    for count, (one, other) in enumerate(zip_longest(first, second)):
        if one is None or other is None:
            longer, shorter = paths if other is None else paths[::-1]
            rest = 1 + sum(1 for _ in (first if other is None else second))
            raise UserError(
                f"{longer} has {count + rest} {what}s but {shorter} has {count}: "
                f"{what} n of one must translate {what} n of the other"
            )
        yield one, other


def _tagged(paths: tuple[Path, Path], titles: bool) -> Iterator[Pair]:
    """Skips metadata, which has its own lines, at the same positions on both sides."""
    pairs = _lines(paths)
    for number, pair in enumerate(pairs, start=1):
        texts = [_tagged_text(line, titles) for line in pair]
        if (texts[0] is None) != (texts[1] is None):
            tagged = paths[0] if texts[0] is None else paths[1]
            other = paths[1] if texts[0] is None else paths[0]
            raise UserError(
                f"{tagged}, line {number}: has metadata where {other} has text: "
                "the files do not belong together"
            )
        if texts[0] is not None and texts[1] is not None:
            yield texts[0], texts[1]


def _tagged_text(line: str, titles: bool) -> str | None:
    """Returns the sentence of a line, None for metadata."""
    line = line.strip()
    if _KEPT_TAG.match(line):
        return _KEPT_TAG.sub("", line).strip() if titles else None
    return None if line.startswith("<") else line


def _segments(paths: tuple[Path, Path]) -> Iterator[Pair]:
    sides = [_read_segments(path) for path in paths]
    for path, side in zip(paths, sides, strict=True):
        if not side:
            raise UserError(f"{path}: no <seg> in it")
    for number, (one, other) in enumerate(zip(*sides, strict=False), start=1):
        if one[0] != other[0]:
            raise UserError(
                f"segment {number}: {paths[0]} has id {one[0]!r} where {paths[1]} has "
                f"{other[0]!r}: the files do not belong together"
            )
    texts = [iter([text for _, text in side]) for side in sides]
    return _together(paths, texts[0], texts[1], "segment")


def _read_segments(path: Path) -> list[Pair]:
    """Returns (id, text) of every segment, in order."""
    text = "\n".join(stream_lines(path, fix=True))
    segments: list[Pair] = []
    opening: re.Match[str] | None = None
    for tag in _SEGMENT.finditer(text):
        if bool(tag[1]) == (opening is None):
            line = text.count("\n", 0, tag.start()) + 1
            raise UserError(f"{path}, line {line}: <seg> and </seg> do not alternate")
        if opening is not None:
            number = _ID.search(opening[2])
            inside = html.unescape(text[opening.end() : tag.start()])
            segments.append((number[1] if number else "", " ".join(inside.split())))
        opening = None if tag[1] else tag
    if opening is not None:
        raise UserError(f"{path}: its last <seg> is not closed: the file is truncated")
    return segments


def _translation_units(path: Path, languages: tuple[str, str]) -> Iterator[Pair]:
    """Yields units that have both languages; ``EN-GB`` and ``eng`` count as ``en``."""
    units = pairs = 0
    codes: set[str] = set()
    with opened(path) as stream:
        try:
            for _, element in ElementTree.iterparse(stream):
                if element.tag.rpartition("}")[2].lower() != "tu":
                    continue
                units += 1
                texts = _unit_texts(element)
                element.clear()
                codes |= texts.keys()
                first, second = (_code_of(language, texts) for language in languages)
                if first is not None and second is not None and first != second:
                    pairs += 1
                    yield texts[first], texts[second]
        except ElementTree.ParseError as error:
            raise UserError(f"{path}: not well-formed XML after {units} units: {error}") from error
    if not pairs:
        raise UserError(
            f"{path}: none of its {units} units has both {' and '.join(languages)}; "
            f"its languages are {', '.join(sorted(codes)) or 'not named'}"
        )


def _unit_texts(unit: ElementTree.Element) -> dict[str, str]:
    """Returns language code (lower case, with hyphens) → text."""
    texts = {}
    for variant in unit:
        if variant.tag.rpartition("}")[2].lower() != "tuv":
            continue
        code = _normalised(variant.get(_XML_LANG) or variant.get("lang") or "")
        for child in variant:
            if child.tag.rpartition("}")[2].lower() == "seg":
                texts[code] = " ".join("".join(child.itertext()).split())
    return texts


def _code_of(language: str, codes: Iterable[str]) -> str | None:
    """Returns the code if present (zh-TW beside zh-CN), else one of the same language."""
    wanted, known = _normalised(language), _known_as(language)
    same = [code for code in codes if code == wanted or _known_as(code) == known]
    return wanted if wanted in same else next(iter(same), None)


def _normalised(code: str) -> str:
    return code.strip().lower().replace("_", "-")


_known_as = functools.cache(known_as)  # called for every line
