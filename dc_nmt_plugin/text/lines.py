"""Reads lines of text files. Every command uses this definition of a line."""

from __future__ import annotations

import bz2
import gzip
import importlib
import lzma
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import UserError

PACKED = (".gz", ".xz", ".bz2", ".zst")
# text never begins like these
GZIP, XZ, ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
_BZIP2 = re.compile(rb"BZh[1-9]1AY&SY")
PIPE = "a pipe is read once, and this text more often; name a file"

# These characters end a line for str.splitlines, and so for some tools, but not for fairseq. On one
# side of a corpus, they shift every later pair.
_STRAY = re.compile("[\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Opens a file for bytes: plain, or packed by gzip, xz, bzip2 or zstd.

    Raises:
        UserError: the file cannot be read, or what is read from it is damaged
    """
    if Path(path).is_fifo():  # opening one waits until somebody writes
        raise UserError(f"{path}: cannot be read: {PIPE}")
    damage: tuple[type[Exception], ...] = ()
    try:
        with open(path, "rb") as plain:
            head = plain.read(10)
            plain.seek(0)
            stream, damage = _unpacked(path, plain, head)
            yield stream
    except damage as error:
        raise UserError(f"{path}: cannot be decompressed: {error}") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or PIPE}") from error


def _unpacked(path: object, plain: Any, head: bytes) -> tuple[Any, tuple[type[Exception], ...]]:
    """Returns a stream of the unpacked bytes of an open file, and the errors that mean damage.

    Args:
        path: of the file
        plain: the open file
        head: its first bytes
    """
    if head.startswith(GZIP):
        return gzip.GzipFile(fileobj=plain), (EOFError, zlib.error, gzip.BadGzipFile)
    if head.startswith(XZ):
        return lzma.LZMAFile(plain), (EOFError, lzma.LZMAError)
    if _BZIP2.match(head):
        return bz2.BZ2File(plain), (EOFError, OSError)
    if head.startswith(ZSTD):
        zstd = _zstd(path)
        return zstd.ZstdFile(plain), (EOFError, zstd.ZstdError)
    return plain, ()


def _zstd(path: object) -> Any:
    """Returns the module that reads zstd's files; of others, zstandard takes cut files as whole.

    Raises:
        UserError: Python before 3.14, and no `backports.zstd`
    """
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UserError(
            f"{path}: {name} is not installed: pip install 'dc_nmt_plugin[zstd]', or unpack it "
            "with zstd -d"
        ) from error


def stream_lines(
    path: str | os.PathLike[str], *, fix: bool = False, errors: str = "strict"
) -> Iterator[str]:
    """Yields the lines of a file, plain or packed; see :func:`decoded`.

    Raises:
        UserError: the file is missing, empty, damaged or not UTF-8
    """
    empty = True
    with opened(path) as stream:
        for line in decoded(stream, path, fix=fix, errors=errors):
            empty = False
            yield line
    if empty:
        raise UserError(f"{path}: the file is empty")


def read_lines(path: str | os.PathLike[str], *, fix: bool = False) -> list[str]:
    """Returns the lines of a UTF-8 file, as :func:`stream_lines`.

    Raises:
        UserError: also where, without `fix`, a line has a character that only some tools take for a
            line end
    """
    lines = list(stream_lines(path, fix=fix))
    lines[0] = lines[0].removeprefix("\ufeff")
    for number, line in enumerate(lines, start=1):
        match = _STRAY.search(line)
        if match:
            raise UserError(
                f"{path}, line {number}: has {character(match[0])}, which ends a line for some "
                "tools and not for others; replace such characters by spaces"
            )
    return lines


def decoded(
    lines: Iterable[bytes], name: object, *, fix: bool = True, errors: str = "strict"
) -> Iterator[str]:
    """Yields the lines of a stream of that name without their ends.

    Only a line feed, or a carriage return and a line feed, ends a line.

    Args:
        fix: replace characters that only some tools take for a line end by spaces, and remove a
            byte order mark
        errors: "replace" for the log of a program, which may print any bytes

    Raises:
        UserError: a line is not UTF-8
    """
    for number, raw in enumerate(lines, start=1):
        try:
            text = raw.decode("utf-8-sig" if fix and number == 1 else "utf-8", errors)
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise UserError(
                f"{name}, line {number}: byte 0x{byte:02x} is not valid UTF-8; convert the file, "
                "such as with iconv"
            ) from error
        text = text.removesuffix("\n").removesuffix("\r")
        yield with_plain_ends(text) if fix else text


def with_plain_ends(line: str) -> str:
    """Returns a line with spaces for characters that only some tools take for a line end."""
    return _STRAY.sub(" ", line)


def remove_bpe(line: str) -> str:
    """Joins the pieces of subword-nmt to words.

    >>> remove_bpe("Wald@@ weg en@@")
    'Waldweg en'
    """
    return re.sub(r"@@( |$)", "", line).strip()


def character(text: str) -> str:
    """Returns the name of an invisible character: ``U+2028``."""
    return f"U+{ord(text):04X}"
