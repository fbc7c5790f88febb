"""Extracts single members of archives, first under a temporary name."""

from __future__ import annotations

import lzma
import shutil
import tarfile
import zipfile
import zlib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO

from ..errors import UserError
from ..files import replacing

# RuntimeError and NotImplementedError: a zip file that is encrypted, or of an unknown kind
_DAMAGE = (
    *(EOFError, OSError, tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(RuntimeError, NotImplementedError),
)


def extract(archive: Path, member: str, target: Path) -> None:
    """Writes one member of a ``.tgz``, ``.tar`` or ``.zip`` file; its name may have ``*``.

    Raises:
        UserError: the archive is damaged, incomplete or encrypted, or has no such file
    """
    names: list[str] = []
    try:
        with replacing(target) as temporary, open(temporary, "wb") as out:
            if archive.suffix == ".zip":
                with zipfile.ZipFile(archive) as zipped:
                    names = zipped.namelist()
                    for name in names:
                        if _is(name, member):
                            with zipped.open(name) as stream:
                                shutil.copyfileobj(stream, out)
                            return
            else:
                # read up to the member, because listing an archive of gigabytes is slow
                with tarfile.open(archive) as tar:
                    for entry in tar:
                        content: IO[bytes] | None = None
                        # links and devices of a stranger's archive are never followed
                        names.append(entry.name + ("" if entry.isfile() else " (no file)"))
                        if entry.isfile() and _is(entry.name, member):
                            content = tar.extractfile(entry)
                        if content is not None:
                            shutil.copyfileobj(content, out)
                            return
            some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
            raise UserError(f"{archive}: has no {member}; it has {some or 'nothing'}")
    except _DAMAGE as error:
        raise UserError(
            f"{archive}: damaged, truncated or not readable ({error}); remove it and download it "
            "again"
        ) from error


def _is(name: str, member: str) -> bool:
    return not name.endswith("/") and fnmatchcase(name.removeprefix("./"), member)
