"""Extracts single members of archives, first under a temporary name."""

from __future__ import annotations

import lzma
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
# text shrinks to a tenth, rarely to a fiftieth; a larger factor is an attack that fills the disk
RATIO, SPARE = 200, 1 << 24
BLOCK = 1 << 20


def extract(archive: Path, member: str, target: Path) -> None:
    """Writes one member of a ``.tgz``, ``.tar`` or ``.zip`` file; its name may have ``*``.

    Raises:
        UserError: the archive is damaged, incomplete or encrypted, has no such member, or the
            member is not a file or grows too much
    """
    limit = RATIO * archive.stat().st_size + SPARE if archive.is_file() else 0
    try:
        with (
            replacing(target) as temporary,
            open(temporary, "wb") as out,
            _member(archive, member) as stream,
        ):
            while block := stream.read(BLOCK):
                limit -= len(block)
                if limit < 0:
                    raise UserError(
                        f"{archive}: {member} unpacks to more than {RATIO} times the archive: it "
                        "is no text"
                    )
                out.write(block)
    except (RuntimeError, NotImplementedError) as error:  # of zipfile
        raise UserError(f"{archive}: {member} cannot be unpacked ({error})") from error
    except PermissionError as error:
        raise UserError(f"{archive}: cannot be read ({error.strerror})") from error
    except _DAMAGE as error:
        raise UserError(
            f"{archive}: damaged or truncated ({error}); remove it and download it again"
        ) from error


@contextmanager
def _member(archive: Path, member: str) -> Iterator[IO[bytes]]:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            name = _choose(archive, member, zipped.namelist())
            if name.endswith("/"):
                raise UserError(f"{archive}: {name} is no file but a folder")
            with zipped.open(name) as stream:
                yield stream
        return
    with tarfile.open(archive) as tar:
        # read up to the member, because listing an archive of gigabytes is slow
        names = []
        for entry in tar:
            names.append(entry.name)
            if not _is(entry.name, member):
                continue
            content = tar.extractfile(entry) if entry.isfile() else None
            if content is None:
                raise UserError(f"{archive}: {entry.name} is no file but a {_kind(entry)}")
            yield content
            return
        _choose(archive, member, names)


def _kind(entry: tarfile.TarInfo) -> str:
    if entry.isdir():
        return "folder"
    return "link" if entry.issym() or entry.islnk() else "device or pipe"


def _choose(archive: Path, member: str, names: list[str]) -> str:
    for name in names:
        if _is(name, member):
            return name
    some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    raise UserError(f"{archive}: has no {member}; it has {some or 'nothing'}")


def _is(name: str, member: str) -> bool:
    return fnmatchcase(name.removeprefix("./"), member)
