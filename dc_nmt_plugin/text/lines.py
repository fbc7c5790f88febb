"""Reads lines of text files, and checks parallel text before training."""

from __future__ import annotations

import codecs
import gzip
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from ..errors import UserError
from ..files import write_lines

INDEX_COUNT = 18  # bytes before the number of sentences in an index of fairseq's
GZIP = b"\x1f\x8b"  # no UTF-8 text begins so


# what ends a line for str.splitlines, and so for some tools, and does not for fairseq: where
# it stands on one side of a corpus, every later pair is shifted
STRAY = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_STRAY = re.compile(f"[{STRAY}]")
_SPACES = str.maketrans(dict.fromkeys(STRAY, " "))


def read_lines(path: str | os.PathLike[str], *, mend: bool = False) -> list[str]:
    """The lines of a UTF-8 file: here it is decided, for every command, what a line is.

    A line feed ends a line, and a carriage return before it belongs to it; nothing else does. What
    gzip wrote is decompressed.

    Args:
        path: the file
        mend: replace by spaces what tools disagree about

    Raises:
        UserError: the file is missing, empty or not UTF-8, or has a character that some tools
            take for the end of a line (the message has the line).
    """
    lines = [line.removesuffix("\r") for line in _decoded(path).split("\n")]
    if lines[-1] == "":
        lines.pop()
    if mend:
        return [mended(line) for line in lines]
    for number, line in enumerate(lines, start=1):
        if found := _STRAY.search(line):
            raise UserError(
                f"{path}, line {number}: has {character(found[0])}, which ends a line for some "
                "tools and not for others; dc-nmt check-text --mend replaces such characters by "
                "spaces"
            )
    return lines


def decoded(lines: Iterable[bytes], name: object) -> Iterator[str]:
    """Yields the lines of a stream without their ends.

    Args:
        lines: as they come, each with its line feed
        name: of the stream

    Raises:
        UserError: a line is not UTF-8
    """
    for number, raw in enumerate(lines, start=1):
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise _not_utf8(name, number, error) from error
        yield mended(text.removesuffix("\n").removesuffix("\r"))


def read_log(path: str | os.PathLike[str]) -> list[str]:
    """The lines of a program's log, whatever bytes are in it; none where it is empty.

    Raises:
        UserError: the file cannot be read
    """
    return [line.removesuffix("\r") for line in _bytes(path).decode("utf-8", "replace").split("\n")]


def mended(line: str) -> str:
    """Returns a line with spaces for characters that only some tools take for a line end."""
    return line.translate(_SPACES)


def character(text: str) -> str:
    """Returns the name of an invisible character: ``U+2028``."""
    return f"U+{ord(text):04X}"


def _bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        raw = Path(path).read_bytes()
        return gzip.decompress(raw) if raw.startswith(GZIP) else raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path}: cannot be decompressed: {error}") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error


def _decoded(path: str | os.PathLike[str]) -> str:
    raw = _bytes(path)
    if not raw:
        raise UserError(f"{path}: the file is empty")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1  # a byte order mark is not in it
        raise _not_utf8(path, line, error) from error


def _not_utf8(name: object, line: int, error: UnicodeDecodeError) -> UserError:
    byte = error.object[error.start]
    return UserError(f"{name}, line {line}: byte 0x{byte:02x} is not valid UTF-8")


def mend_file(path: str | os.PathLike[str]) -> int:
    """Replace by spaces what tools take for the end of a line, and take out a mark of byte order.

    Returns:
        lines that were changed; where there is none, the file is left alone

    Raises:
        UserError: as :func:`read_lines` does
    """
    if Path(path).suffix == ".gz":
        raise UserError(f"{path}: is compressed: gunzip it first")
    after = read_lines(path, mend=True)
    before = _decoded(path).split("\n")[: len(after)]
    changed = sum(one != other for one, other in zip(before, after, strict=True))
    if changed or _bytes(path).startswith(codecs.BOM_UTF8):
        write_lines(path, after)
    return changed


def check_same_count(before: str | os.PathLike[str], after: str | os.PathLike[str]) -> None:
    """
    Raises:
        UserError: a tool has made a file of another number of lines
    """
    counts = [_count(path) for path in (before, after)]
    if counts[0] != counts[1]:
        raise UserError(
            f"{before} has {counts[0]:,} lines and what was made of it, {after}, {counts[1]:,}: "
            "a sentence was lost or split"
        )


def _count(path: str | os.PathLike[str]) -> int:
    """Lines of text; sentences of what fairseq-preprocess wrote, given its index."""
    with open(path, "rb") as plain, _uncompressed(plain) as stream:
        if Path(path).suffix == ".idx":
            stream.seek(INDEX_COUNT)
            return int.from_bytes(stream.read(8), "little")
        blocks = iter(lambda: stream.read(1 << 20), b"")
        count, last = 0, b"\n"
        for block in blocks:
            count, last = count + block.count(b"\n"), block
    return count + (not last.endswith(b"\n"))


def _uncompressed(stream: BinaryIO) -> BinaryIO:
    """What gzip wrote as it was before, else the stream itself."""
    compressed = stream.read(len(GZIP)) == GZIP
    stream.seek(0)
    return cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if compressed else stream


def check_parallel(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Number of pairs in two files of one sentence a line.

    Raises:
        UserError: a file cannot be read as :func:`read_lines` does, the files have different
            numbers of lines, or a line is blank.
    """
    sides = {path: read_lines(path) for path in (source, target)}
    if len(sides) == 1:
        raise UserError(f"{source}: given as both source and target")
    for path in sides:
        if Path(path).suffix == ".gz":
            raise UserError(f"{path}: is compressed, and fairseq reads plain text: gunzip it first")
    counts = {path: len(lines) for path, lines in sides.items()}
    if counts[source] != counts[target]:
        raise UserError(
            f"{source} has {counts[source]} lines but {target} has {counts[target]}: "
            "line n of one must translate line n of the other"
        )
    for path, lines in sides.items():
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                raise UserError(f"{path}, line {number}: the line is blank")
    return counts[source]
