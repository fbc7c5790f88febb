"""Stamps: short digests of the inputs of a result, in files beside it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from .files import read_small, replacing

DATA = "data.stamp"  # stamp of the training text, in a run's folder


def read_stamp(path: Path) -> str | None:
    """Returns the stamp in a file; None without a file.

    Raises:
        UserError: the file is damaged
    """
    return read_small(path).rstrip("\n") if path.is_file() else None


def write_stamp(path: Path, stamp: str) -> None:
    with replacing(path) as temporary:  # an incomplete stamp would look like that of other settings
        temporary.write_text(f"{stamp}\n", "utf-8")


def may_be_its_text(run: Path, data: Path) -> bool:
    """Returns True if `data` is the text of a run, or if one of the two has no record.

    Args:
        run: folder of the run
        data: folder made by ``fairseq-preprocess``
    """
    learnt, text = read_stamp(run / DATA), read_stamp(data / ".stamp")
    return not learnt or not text or learnt == text


def digest(words: Iterable[object]) -> str:
    """Returns a short stamp of settings: POSIX ``cksum`` with one line per word, as CRC-LENGTH."""
    return _cksum(f"{word}\n".encode() for word in words)


def file_digest(paths: Iterable[Path]) -> str:
    """Returns a short stamp of the concatenated contents of files."""
    return _cksum(_blocks(paths))


def _blocks(paths: Iterable[Path]) -> Iterator[bytes]:
    for path in paths:
        with open(path, "rb") as stream:
            while block := stream.read(1 << 20):
                yield block


# POSIX's CRC is zlib's with the bits of every byte, and of the result, in the other order
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def _cksum(blocks: Iterable[bytes]) -> str:
    crc, length = 0xFFFFFFFF, 0
    for block in blocks:
        crc = zlib.crc32(block.translate(_MIRRORED), crc)
        length += len(block)
    size = length.to_bytes((length.bit_length() + 7) // 8, "little")
    crc = zlib.crc32(size.translate(_MIRRORED), crc)
    return f"{int(f'{crc:032b}'[::-1], 2)}-{length}"
