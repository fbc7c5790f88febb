"""Finds the files of a recipe, or downloads them from their URLs, and verifies them."""

from __future__ import annotations

import http.client
import lzma
import shutil
import tarfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO

from tqdm import tqdm

from ...errors import UserError
from ...files import check_space, digest, replacing
from .recipe import Recipe, SourceFile

Say = Callable[[str], None]
DOWNLOADS = Path("runs/downloads")
TIMEOUT = 60  # seconds without a byte
MAGIC = {".tgz": b"\x1f\x8b", ".gz": b"\x1f\x8b", ".zip": b"PK"}


class Sources:
    """Manages the files of a recipe on this machine.

    Args:
        recipe: whose files
        raw: folder with files that the user has
        downloads: folder of fetched files
        say: called with a line for every file
    """

    def __init__(self, recipe: Recipe, raw: Path | None, downloads: Path, say: Say = print) -> None:
        self.recipe, self.raw, self.downloads, self.say = recipe, raw, downloads, say
        self._verified: dict[str, Path] = {}

    def path(self, name: str) -> Path:
        """Returns the verified file, downloaded if necessary.

        Raises:
            UserError: the file is missing, or is not the expected file
        """
        if name not in self._verified:
            self._verified[name] = self._get(self.recipe.task.files[name])
        return self._verified[name]

    def available(self, name: str) -> bool:
        """Returns True when the file is here or has a URL."""
        file = self.recipe.task.files[name]
        if self._here(file) is not None or file.urls:
            return True
        return file.inside is not None and self.available(file.inside[0])

    def _here(self, file: SourceFile) -> Path | None:
        local = self.recipe.local(file)
        mine = [self.raw / name for name in (file.name, *file.also)] if self.raw else []
        places = [local] if local else [*mine, self.downloads / file.name]
        return next((path for path in places if path.is_file()), None)

    def _get(self, file: SourceFile) -> Path:
        path = self._here(file)
        if path is None and file.path:
            raise UserError(
                f"{self.recipe.local(file)}: is not there any more; {self.recipe.path} has it as "
                f"files.{file.name}.path"
            )
        if path is None:
            unpacked = self._unpack(file, *file.inside) if file.inside else None
            return unpacked or self._fetch(file)
        self._verify(file, path)
        return path

    def _unpack(self, file: SourceFile, archive: str, member: str) -> Path | None:
        """Extracts a file from an archive; returns None if that fails and there are URLs."""
        path = self.downloads / file.name
        try:
            extract(self.path(archive), member, path)
            self._verify(file, path)
        except UserError as error:
            path.unlink(missing_ok=True)  # another version than the published one
            if not file.urls:
                raise
            self.say(f"  {error}")
            return None
        return path

    def _verify(self, file: SourceFile, path: Path) -> None:
        """Compares with the published checksum, if there is one.

        Raises:
            UserError: another checksum, or content that does not fit the file's name
        """
        start = MAGIC.get(Path(file.name).suffix)
        with open(path, "rb") as stream:
            head = stream.read(4)
        if start and not head.startswith(start):  # such as a web page about an error
            raise UserError(f"{path}: is not the file but something else (it begins with {head!r})")
        if file.checksum is None:
            return
        kind, expected = file.checksum
        actual = digest(kind, path)
        if actual == expected:
            return
        if file.path:
            raise UserError(
                f"{path}: has changed since the recipe was made (its {kind} is {actual}): make "
                f"another with dc-nmt new, or correct {self.recipe.path}, files.{file.name}: the "
                "text is then prepared anew, and runs need new names"
            )
        publisher = f" ({file.listed})" if file.listed else ""
        raise UserError(
            f"{path}: its {kind} is {actual}, and {expected} is the published one{publisher}: it "
            "is damaged or another version; remove it, and the next run fetches it again"
        )

    def _fetch(self, file: SourceFile) -> Path:
        target = self.downloads / file.name
        reasons = []
        for url in file.urls:
            try:
                # the file gets its name when it is verified, whoever else fetches it too
                with replacing(target) as part:
                    _download(url, part, self.say)
                    self._verify(file, part)
            except (OSError, http.client.HTTPException, ValueError) as error:
                check_space(target, error)  # another address has no more room
                reasons.append(f"  {url}: {error}")
                continue
            return target
        note = f"{file.note}\n" if file.note else ""
        raise UserError(
            f"{file.name}: cannot be fetched:\n"
            + "\n".join(reasons or ["  it has no public URL"])
            + f"\n{note}Put {file.name} into {self.raw or 'a folder'} and run the same command "
            f"with --raw {self.raw or 'FOLDER'}"
        )


def _download(url: str, to: Path, say: Say) -> None:
    """Downloads a file.

    Raises:
        OSError: an invalid URL, or the connection ended before the end of the file
    """
    request = urllib.request.Request(url, headers={"User-Agent": "dc-nmt"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        total = int(answer.headers.get("Content-Length") or 0)
        say(f"  {url}" + (f" ({total / 1e6:,.1f} MB)" if total else ""))
        shown = tqdm.wrapattr(answer, "read", total=total or None, disable=None)
        with open(to, "wb") as out, shown as content:
            shutil.copyfileobj(content, out)
    size = to.stat().st_size
    if size < total:
        raise OSError(f"the connection ended after {size} of {total} bytes")


# -- archives ----------------------------------------------------------------------------------

DAMAGE: tuple[type[Exception], ...] = (EOFError, OSError, tarfile.TarError, zipfile.BadZipFile)
DAMAGE += (zlib.error, lzma.LZMAError, RuntimeError)  # an unknown compression, a password


def extract(archive: Path, member: str, target: Path) -> None:
    """Writes one member of a ``.tgz``, ``.tar`` or ``.zip`` file; its name may have ``*``.

    Raises:
        UserError: the archive is damaged or incomplete, or has no such file
    """
    names: list[str] = []
    try:
        with replacing(target) as temporary, open(temporary, "wb") as out:
            for name, content in _files_in(archive):
                names.append(name)
                if fnmatchcase(name.removeprefix("./"), member):
                    shutil.copyfileobj(content, out)
                    return
            some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
            raise UserError(f"{archive}: has no {member}; it has {some or 'nothing'}")
    except DAMAGE as error:
        raise UserError(
            f"{archive}: damaged, truncated or not readable ({error}); remove it and download it "
            "again"
        ) from error


def _files_in(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yields name and content of each file, entry by entry: an archive may have gigabytes."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            for name in zipped.namelist():
                if not name.endswith("/"):
                    with zipped.open(name) as content:
                        yield name, content
    else:
        with tarfile.open(archive) as tar:
            for entry in tar:
                # links and devices of a stranger's archive are never followed
                file = tar.extractfile(entry) if entry.isfile() else None
                if file is not None:
                    yield entry.name, file
