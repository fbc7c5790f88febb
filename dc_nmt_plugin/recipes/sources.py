"""Finds the files of a recipe, or downloads them from their URLs, and verifies them."""

from __future__ import annotations

import http.client
import lzma
import os
import shutil
import tarfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO

from tqdm import tqdm

from ..errors import UserError
from ..files import check_space, digest, replacing, sha256, write_text
from .recipe import Recipe, SourceFile

Say = Callable[[str], None]
DOWNLOADS = Path("runs/downloads")
BLOCK = 1 << 18
TIMEOUT = 60  # seconds without a byte
MAGIC = {".tgz": b"\x1f\x8b", ".gz": b"\x1f\x8b", ".zip": b"PK"}


class Sources:
    """Manages the files of a recipe on this machine.

    ``DC_NMT_MIRROR`` names a URL (without the name of the file) that is tried first.

    Args:
        recipe: whose files
        raw: folder with files that the user has
        downloads: folder of fetched files
        say: called with a line for every file
    """

    def __init__(self, recipe: Recipe, raw: Path | None, downloads: Path, say: Say = print) -> None:
        self.recipe, self.raw, self.downloads, self.say = recipe, raw, downloads, say
        self.folders = [folder for folder in (raw, *recipe.nearby(), downloads) if folder]
        self._verified: dict[str, Path] = {}

    def path(self, name: str) -> Path:
        """Returns the verified file, downloaded if necessary.

        Raises:
            UserError: the file is missing, or is not the expected file
        """
        if name in self._verified:
            return self._verified[name]
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
        places = [local] if local else [folder / file.name for folder in self.folders]
        if self.raw and not local:
            places += [self.raw / name for name in file.also]
        return next((path for path in places if path.is_file()), None)

    def _get(self, file: SourceFile) -> Path:
        path = self._here(file)
        if path is None and file.path:
            raise UserError(
                f"{self.recipe.local(file)}: is not there any more; {self.recipe.path} has it as "
                f"files.{file.name}.path"
            )
        if path is None and file.inside:
            path = self._unpack(file, *file.inside)
        if path is None:
            return self._fetch(file)  # verified before it gets its name
        self._verify(file, path)
        return path

    def _unpack(self, file: SourceFile, archive: str, member: str) -> Path | None:
        """Extracts a file from an archive; returns None if that fails and there are URLs."""
        path = self.downloads / file.name
        try:
            extract(self.path(archive), member, path)
            if file.checksum:
                self._verify(file, path)
        except UserError as error:
            path.unlink(missing_ok=True)  # another version than the published one
            if not file.urls:
                raise
            self.say(f"  {error}")
            return None
        return path

    def _verify(self, file: SourceFile, path: Path) -> None:
        """Compares with the published checksum, else with that of the first download.

        Raises:
            UserError: another checksum, or content that does not fit the file's name
        """
        start = MAGIC.get(Path(file.name).suffix)
        with open(path, "rb") as stream:
            head = stream.read(4)
        if start and not head.startswith(start):  # such as a web page about an error
            raise UserError(f"{path}: is not the file but something else (it begins with {head!r})")
        record = self.downloads / f"{file.name}.sha256"
        if file.checksum:
            kind, expected = file.checksum
            origin = f"the published one{f' ({file.listed})' if file.listed else ''}"
        else:
            if not record.is_file():
                write_text(record, f"{sha256(path)}  {file.name}\n")
            kind, expected = "sha256", record.read_text("utf-8").split()[0]
            origin = f"that of the first time, in {record} (remove that if this is the right file)"
        actual = digest(kind, path)
        if actual == expected:
            return
        if file.path:
            raise UserError(
                f"{path}: has changed since the recipe was made (its {kind} is {actual}): make "
                f"another with dc-nmt new, or correct {self.recipe.path}, files.{file.name}: the "
                "text is then prepared anew, and runs need new names"
            )
        raise UserError(
            f"{path}: its {kind} is {actual}, and {expected} is {origin}: it is damaged or "
            "another version; remove it, and the next run fetches it again"
        )

    def _fetch(self, file: SourceFile) -> Path:
        target = self.downloads / file.name
        mirror = os.environ.get("DC_NMT_MIRROR")
        mirrors = [f"{mirror.rstrip('/')}/{file.name}"] if mirror else []
        reasons = []
        for url in (*mirrors, *file.urls):
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
        with (
            open(to, "wb") as out,
            tqdm(total=total or None, unit="B", unit_scale=True, disable=None) as progress,
        ):
            while block := answer.read(BLOCK):
                out.write(block)
                progress.update(len(block))
    size = to.stat().st_size
    if size < total:
        raise OSError(f"the connection ended after {size} of {total} bytes")


# -- archives ----------------------------------------------------------------------------------

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
