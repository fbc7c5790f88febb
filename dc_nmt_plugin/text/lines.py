"""The lines of a text file, and the checks of parallel text before anything is learnt from it."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

from ..errors import UserError

GZIP = b"\x1f\x8b"  # no UTF-8 text begins so


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """The lines of a UTF-8 file without their line feeds.

    Only a line feed ends a line, as in fairseq: ``str.splitlines`` would also split at
    a form feed or U+2028 and so shift every later line. What gzip wrote is decompressed.

    Raises:
        UserError: the file is missing, empty or not UTF-8 (the message has the line).
    """
    try:
        raw = Path(path).read_bytes()
        if raw.startswith(GZIP):
            raw = gzip.decompress(raw)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path}: cannot be decompressed: {error}") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    if not raw:
        raise UserError(f"{path}: the file is empty")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path}, line {line}: byte 0x{raw[error.start]:02x} is not valid UTF-8"
        ) from error
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def check_parallel(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Number of pairs in two files of one sentence a line.

    Raises:
        UserError: a file is missing, empty or not UTF-8, the files have different
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
