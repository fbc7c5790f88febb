"""Finds the files of a recipe, or downloads them from their URLs, and verifies them."""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tqdm import tqdm

from ..errors import UsageError, UserError
from ..files import digest, sha256, take_lock, write_text
from .archives import extract
from .recipe import Recipe
from .schema import SourceFile

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
        if raw is not None and not raw.is_dir():
            raise UsageError(f"--raw: {raw} is not a folder")
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
        file = self.recipe.task.files[name]
        if self._here(file) is not None or not (file.urls or file.inside):
            self._verified[name] = self._get(file)
            return self._verified[name]
        self.downloads.mkdir(parents=True, exist_ok=True)
        # several recipes may need the same file at the same time
        with open(self.downloads / f".{name}.lock", "w") as lock:
            waiting = f"  {name}: waiting for another recipe that fetches it"
            take_lock(lock, lambda: self.say(waiting))
            self._verified[name] = self._get(file)
        return self._verified[name]

    def available(self, name: str) -> bool:
        """Returns True when the file is here or has a URL."""
        file = self.recipe.task.files[name]
        if self._here(file) is not None or file.urls:
            return True
        return file.inside is not None and self.available(file.inside[0])

    def checksums(self) -> dict[str, str]:
        """Returns the checksum of every file used in this run, by name."""
        result = {}
        for name in self._verified:
            checksum = self.recipe.task.files[name].checksum
            if checksum is None:
                record = self.downloads / f"{name}.sha256"
                checksum = "sha256", record.read_text("utf-8").split()[0]
            result[name] = ":".join(checksum)
        return result

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
        part = target.with_name(f"{target.name}.part")
        self.downloads.mkdir(parents=True, exist_ok=True)
        mirror = os.environ.get("DC_NMT_MIRROR")
        mirrors = [f"{mirror.rstrip('/')}/{file.name}"] if mirror else []
        reasons = []
        for url in (*mirrors, *file.urls):
            try:
                fetch(url, part, self.say)
                self._verify(file, part)
            except (OSError, http.client.HTTPException, ValueError) as error:
                if isinstance(error, UserError):
                    part.unlink(missing_ok=True)  # a wrong file, not an incomplete one
                reasons.append(f"  {url}: {error}")
                continue
            part.replace(target)
            return target
        note = f"{file.note}\n" if file.note else ""
        raise UserError(
            f"{file.name}: cannot be fetched:\n"
            + "\n".join(reasons or ["  it has no public URL"])
            + f"\n{note}Put {file.name} into {self.raw or 'a folder'} and run the same command "
            f"with --raw {self.raw or 'FOLDER'}"
        )


def fetch(url: str, part: Path, say: Say = print) -> None:
    """Downloads ``url`` into ``part``; continues if it holds the beginning.

    Raises:
        OSError: an invalid URL, or the connection ended before the end of the file; the beginning
            is kept
    """
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "dc-nmt"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not have:
            raise
        part.unlink()  # it was complete, or is no beginning of the file
        fetch(url, part, say)
        return
    with answer:
        if have and answer.status != 206:
            have = 0  # a server that cannot continue
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length else None
        say(f"  {url}" + (f" ({total / 1e6:,.1f} MB)" if total else ""))
        with (
            open(part, "ab" if have else "wb") as out,
            tqdm(
                desc=part.stem, total=total, initial=have, unit="B", unit_scale=True, disable=None
            ) as progress,
        ):
            while block := answer.read(BLOCK):
                out.write(block)
                have += len(block)
                progress.update(len(block))
    if total is not None and have < total:
        raise OSError(f"the connection ended after {have} of {total} bytes; run again to continue")
