"""Reads parallel text in the formats of the campaigns, as pairs of lines.

``plain``: a sentence a line (Moses style). ``iwslt-tags``: the same with lines of metadata between
talks. ``iwslt-xml`` and ``sgm``: a ``<seg>`` a sentence; neither is well-formed XML, so both are
read by pattern, as sacreBLEU does.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from ...errors import UserError, counted
from ...text.lines import stream_lines

Pair = tuple[str, str]

_SEGMENT = re.compile(r"<seg\b([^<>]*)>(.*?)</seg\b[^<>]*>", re.I | re.S)
_SEGMENT_TAG = re.compile(r"</?seg\b", re.I)
_ID = re.compile(r'\bid\s*=\s*"?([^">\s]*)', re.I)
_KEPT_TAG = re.compile(r"</?(?:title|description)>", re.I)


def read_pairs(kind: str, paths: Sequence[Path]) -> Iterator[Pair]:
    """Yields the pairs of a corpus in one of the formats, including blank ones.

    Raises:
        UserError: the sides do not correspond, or bytes are not UTF-8 (the message has the line)
    """
    if kind == "plain":
        return _lines(paths)
    return _tagged(paths) if kind == "iwslt-tags" else _segments(paths)


def _lines(paths: Sequence[Path]) -> Iterator[Pair]:
    first, second = (stream_lines(path, fix=True) for path in paths)
    return together(paths, first, second, "line")


def together(
    paths: Sequence[object], first: Iterator[str], second: Iterator[str], what: str
) -> Iterator[Pair]:
    for count, (one, other) in enumerate(zip_longest(first, second)):
        if one is None or other is None:
            longer, shorter = paths if other is None else paths[::-1]
            rest = 1 + sum(1 for _ in (first if other is None else second))
            raise UserError(
                f"{longer} has {counted(count + rest, what)} but {shorter} has {count:,}: "
                f"{what} n of one must translate {what} n of the other"
            )
        yield one, other


def _tagged(paths: Sequence[Path]) -> Iterator[Pair]:
    """Skips metadata, which has its own lines, at the same positions on both sides."""
    for number, pair in enumerate(_lines(paths), start=1):
        first, second = map(_tagged_text, pair)
        if first is not None and second is not None:
            yield first, second
        elif first is not second:
            tagged, other = paths if first is None else paths[::-1]
            raise UserError(
                f"{tagged}, line {number}: has metadata where {other} has text: "
                "the files do not belong together"
            )


def _tagged_text(line: str) -> str | None:
    """Returns the sentence of a line, also a title or description; None for metadata."""
    line = line.strip()
    if _KEPT_TAG.match(line):
        return _KEPT_TAG.sub("", line).strip()
    return None if line.startswith("<") else line


def _segments(paths: Sequence[Path]) -> Iterator[Pair]:
    sides = [_read_segments(path) for path in paths]
    for number, (one, other) in enumerate(zip(*sides, strict=False), start=1):
        if one[0] != other[0]:
            raise UserError(
                f"segment {number}: {paths[0]} has id {one[0]!r} where {paths[1]} has "
                f"{other[0]!r}: the files do not belong together"
            )
    texts = [iter([text for _, text in side]) for side in sides]
    return together(paths, texts[0], texts[1], "segment")


def _read_segments(path: Path) -> list[Pair]:
    """Returns (id, text) of every segment, in order."""
    text = "\n".join(stream_lines(path, fix=True))
    segments: list[Pair] = []
    for attributes, content in _SEGMENT.findall(text):
        number = _ID.search(attributes)
        words = html.unescape(content).split()
        segments.append((number[1] if number else "", " ".join(words)))
    if len(_SEGMENT_TAG.findall(text)) != 2 * len(segments):
        raise UserError(f"{path}: <seg> and </seg> do not alternate: it is damaged or truncated")
    return segments
