"""Single members of archives, written under a temporary name first."""

from __future__ import annotations

import gzip
import lzma
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO

from ..errors import UserError
from ..files import replacing

_DAMAGE = (EOFError, OSError, tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)


def extract(archive: Path, member: str, target: Path) -> None:
    """Write one member of a ``.tgz``, ``.tar`` or ``.zip`` file, whose name may have ``*``.

    Raises:
        UserError: the archive is damaged or cut off, or has no such member
    """
    try:
        with (
            replacing(target) as temporary,
            open(temporary, "wb") as out,
            _member(archive, member) as stream,
        ):
            shutil.copyfileobj(stream, out, 1 << 20)
    except _DAMAGE as error:
        raise UserError(
            f"{archive}: damaged or cut off ({error}); remove it and fetch it again"
        ) from error


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """A file's bytes, unpacked where its name ends in ``.gz``."""
    with open(path, "rb") as stream:
        yield gzip.GzipFile(fileobj=stream) if path.suffix == ".gz" else stream  # type: ignore[misc]


@contextmanager
def _member(archive: Path, member: str) -> Iterator[IO[bytes]]:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            name = _choose(archive, member, zipped.namelist())
            with zipped.open(name) as stream:
                yield stream
        return
    with tarfile.open(archive) as tar:
        # read until the member comes: an archive of gigabytes is not listed first
        names = []
        for entry in tar:
            names.append(entry.name)
            if entry.isfile() and _is(entry.name, member):
                content = tar.extractfile(entry)
                assert content is not None
                yield content
                return
        _choose(archive, member, names)


def _choose(archive: Path, member: str, names: list[str]) -> str:
    for name in names:
        if _is(name, member):
            return name
    some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    raise UserError(f"{archive}: has no {member}; it has {some or 'nothing'}")


def _is(name: str, member: str) -> bool:
    return fnmatchcase(name.removeprefix("./"), member)
