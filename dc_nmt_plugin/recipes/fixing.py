"""Repairs text as far as a program can: ``dc-nmt check-text --fix``."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from ftfy import fix_encoding
from ftfy.badness import is_bad

from ..errors import UsageError
from ..files import write_lines, write_parallel
from ..text.gate import check_lines
from ..text.kinds import KINDS
from ..text.lines import decoded, with_plain_ends
from ..text.scan import Scan
from ..text.signs import escape_symbols
from .archives import opened
from .formats import Pair, read_pairs

FORMATS = {"iwslt": "iwslt-tags", "xml": "iwslt-xml"}  # kind of problem → format to read as
_PACKED = re.compile(r"\.(?:gz|xml|sgml?)$")
ZERO_WIDTH_SPACE = "\u200b"  # ends words in scripts without spaces

Fixed = Counter[tuple[str, str]]  # (file, what was done) → lines


def fixed_name(path: Path) -> str:
    """Returns the name of the repaired file, which is plain text.

    >>> fixed_name(Path("dev.de.xml.gz"))
    'dev.de'
    """
    name = path.name
    while _PACKED.search(name):
        name = _PACKED.sub("", name)
    return name


def fix(scans: Sequence[Scan], folder: Path) -> tuple[list[Path], Fixed]:
    """Writes repaired files of one sentence a line.

    With two files, drops pairs with a blank side or with fairseq's symbols. A single file keeps all
    its lines.

    Args:
        scans: of source and target, or of one file
        folder: to write into

    Returns:
        the new files, and the number of lines for each change

    Raises:
        UserError: a file would be overwritten, or the sides do not correspond
    """
    paths, targets = _places(scans, folder)
    done = Fixed()
    form = _format(scans)
    repairs = [_repair(each, done, form) for each in scans]
    if len(scans) == 1:
        write_lines(targets[0], list(map(repairs[0], _lines(paths[0]))))
        return targets, done
    if form == "plain":
        check_lines(scans)
        pairs: Iterable[Pair] = zip(_lines(paths[0]), _lines(paths[1]), strict=True)
    else:
        pairs = read_pairs(form, (paths[0], paths[1]), ("", ""))
        done.update({(each.name, f"read as {form}"): each.lines for each in scans})
    both = ", ".join(each.name for each in scans)

    def kept() -> Iterator[Pair]:
        for source, target in pairs:
            pair = repairs[0](source), repairs[1](target)
            if not all(side.strip() for side in pair):
                done[both, "left out: nothing visible"] += 1
            elif any(escape_symbols(side) != side for side in pair):
                done[both, "left out: fairseq's symbols"] += 1
            else:
                yield pair

    write_parallel(targets, kept())
    return targets, done


def _places(scans: Sequence[Scan], folder: Path) -> tuple[list[Path], list[Path]]:
    paths = [Path(each.name) for each in scans]
    targets = [folder / fixed_name(path) for path in paths]
    if len(set(targets)) < len(targets):
        raise UsageError(f"--fix: {paths[0]} and {paths[1]} would both become {targets[0]}")
    for path, target in zip(paths, targets, strict=True):
        if target.resolve() == path.resolve():
            raise UsageError(f"--fix {folder}: {path} would be written over; name another folder")
    return paths, targets


def _format(scans: Sequence[Scan]) -> str:
    kinds = [{f.kind for f in each.findings if f.counts} for each in scans]
    return next((form for kind, form in FORMATS.items() if any(kind in k for k in kinds)), "plain")


def _lines(path: Path) -> Iterator[str]:
    """Yields the lines unchanged: U+0085 may be part of a wrongly encoded character."""
    with opened(path) as stream:
        yield from decoded(stream, path, fix=False)


def _repair(found: Scan, done: Fixed, form: str) -> Callable[[str], str]:
    """Returns a function that repairs one line of a file and counts its changes."""
    kinds = {finding.kind: finding for finding in found.findings}
    name = found.name
    misread = "mojibake" in kinds and form == "plain"
    removed = [
        re.compile(pattern)
        for kind in ("control", "invisible", "unseen")
        if kind in kinds
        for pattern in (_invisible() if kind == "unseen" else KINDS[kind].patterns)
    ]
    entities = None if "tokenized" in kinds else kinds.get("entity")

    def repair(line: str) -> str:
        text = line
        if misread and not text.isascii() and is_bad(text):
            text = fix_encoding(text)
            done[name, "encoding"] += text != line
        if "line-end" in kinds:
            whole = with_plain_ends(text)
            done[name, "line ends: spaces"] += whole != text
            text = whole
        if removed:
            bare = _without(text, removed, found.spaceless)
            done[name, "characters removed"] += bare != text
            text = bare
        if entities and "&" in text:
            plain = html.unescape(text)
            done[name, "entities: characters"] += plain != text
            text = plain
        return text

    return repair


def _invisible() -> tuple[bytes, ...]:
    return KINDS["control"].patterns + KINDS["invisible"].patterns


def _without(text: str, patterns: Sequence[re.Pattern[bytes]], spaceless: bool) -> str:
    keep = spaceless and text.strip(ZERO_WIDTH_SPACE)
    parts = text.split(ZERO_WIDTH_SPACE) if keep else [text]
    raw = [part.encode() for part in parts]
    for pattern in patterns:
        raw = [pattern.sub(b"", part) for part in raw]
    return ZERO_WIDTH_SPACE.join(part.decode() for part in raw)
