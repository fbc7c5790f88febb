"""Reads lines of text files, and checks parallel text before training."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from ..errors import UserError

INDEX_COUNT = 18  # bytes before the number of sentences in an index of fairseq's
BLOCK = 1 << 24  # bytes of a block
GZIP = b"\x1f\x8b"  # UTF-8 text never begins like this


# characters that end a line for str.splitlines, and so for some tools, but not for fairseq; on one
# side of a corpus, they shift every later pair
STRAY = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_STRAY = re.compile(f"[{STRAY}]")
_SPACES = str.maketrans(dict.fromkeys(STRAY, " "))


def read_lines(path: str | os.PathLike[str], *, fix: bool = False) -> list[str]:
    """Returns the lines of a UTF-8 file; all commands use this definition of a line.

    Only a line feed, or a carriage return and a line feed, ends a line. Decompresses gzip.

    Args:
        path: the file
        fix: replace characters that only some tools take for a line end by spaces

    Raises:
        UserError: the file is missing, empty or not UTF-8, or has a character that only some tools
            take for a line end (the message has the line)
    """
    lines = [line.removesuffix("\r") for line in _decoded(path).split("\n")]
    if lines[-1] == "":
        lines.pop()
    if fix:
        return [with_plain_ends(line) for line in lines]
    for number, line in enumerate(lines, start=1):
        if found := _STRAY.search(line):
            raise UserError(
                f"{path}, line {number}: has {character(found[0])}, which ends a line for some "
                "tools and not for others; dc-nmt check-text --fix FOLDER replaces such "
                "characters by spaces"
            )
    return lines


def blocks_of(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yields the bytes of a file, plain or gzipped, in blocks that end with a line.

    Raises:
        UserError: the file cannot be read, or is empty
    """
    try:
        with open(path, "rb") as plain, _uncompressed(plain) as stream:
            block = stream.read(BLOCK)
            if not block:
                raise UserError(f"{path}: the file is empty")
            while block:
                yield block + stream.readline()
                block = stream.read(BLOCK)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path}: cannot be decompressed: {error}") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error


def decoded(lines: Iterable[bytes], name: object, *, fix: bool = True) -> Iterator[str]:
    """Yields the lines of a stream without their ends.

    Args:
        lines: of the stream, each with its line feed
        name: of the stream
        fix: replace characters that only some tools take for a line end by spaces

    Raises:
        UserError: a line is not UTF-8
    """
    for number, raw in enumerate(lines, start=1):
        if raw == b"\r":  # half of the end of the last line
            continue
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise _not_utf8(name, number, error) from error
        text = text.removesuffix("\n").removesuffix("\r")
        yield with_plain_ends(text) if fix else text


def read_log(path: str | os.PathLike[str]) -> list[str]:
    """Returns the lines of a program's log, with any bytes; empty for an empty log.

    Raises:
        UserError: the file cannot be read
    """
    return [line.removesuffix("\r") for line in _bytes(path).decode("utf-8", "replace").split("\n")]


def with_plain_ends(line: str) -> str:
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


def check_same_count(before: str | os.PathLike[str], after: str | os.PathLike[str]) -> None:
    """
    Raises:
        UserError: a tool has written another number of lines
    """
    counts = [_count(path) for path in (before, after)]
    if counts[0] != counts[1]:
        raise UserError(
            f"{before} has {counts[0]:,} lines and what was made of it, {after}, {counts[1]:,}: "
            "a sentence was lost or split"
        )


def _count(path: str | os.PathLike[str]) -> int:
    """Counts lines of text, or sentences of fairseq-preprocess, given its index."""
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
    """Returns the decompressed stream for gzip, else the stream itself."""
    compressed = stream.read(len(GZIP)) == GZIP
    stream.seek(0)
    return cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if compressed else stream
