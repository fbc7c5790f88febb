"""Small file helpers of the text tools: nothing is ever left half-written."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import UserError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary name beside ``path``; rename it to ``path`` if the block succeeds.

    Raises:
        UserError: the folder cannot be created or written.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise UserError(f"cannot write {target}: {error.strerror}") from error
    os.close(handle)
    os.chmod(name, 0o666 & ~_umask())
    try:
        yield Path(name)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_lines(path: str | os.PathLike[str], lines: list[str]) -> None:
    """Write UTF-8 lines, each ended by one line feed, under a temporary name first."""
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as out:
        out.writelines(line + "\n" for line in lines)


def sha256(path: str | os.PathLike[str]) -> str:
    """Hexadecimal SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
