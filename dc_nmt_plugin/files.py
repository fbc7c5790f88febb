"""File helpers that never leave a half-written file."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn, TextIO

from .errors import UserError

# may be redirected to a file, which must not be replaced
_OPEN = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/[^/]+/fd/\d+")
MAKE_ROOM = "make room, then give the same command again"
# a full disk, a reached quota, a limit on the size of files
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def no_space(error: BaseException) -> str | None:
    """Returns why the disk cannot be written, if an exception means that, else None."""
    if isinstance(error, OSError) and error.errno in FULL:
        return os.strerror(error.errno)
    # torch's writer keeps the system's reason for itself
    if isinstance(error, RuntimeError) and "inline_container.cc" in str(error):
        context = error.__context__
        return (context and no_space(context)) or os.strerror(errno.ENOSPC)
    return None


def take_lock(lock: IO[Any], busy: Callable[[], None]) -> None:
    """Locks an open file until it is closed.

    Args:
        lock: the file
        busy: called before waiting for another process with the lock; may raise
    """
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        busy()
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP):
            raise
        raise UserError(
            f"{lock.name}: this file system cannot lock files ({error.strerror}); choose a folder "
            "on another one (--out, --downloads)"
        ) from error


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary name beside ``path``; renames it to ``path`` if the block succeeds.

    A link stays a link, and its target is replaced. An existing file keeps its permissions. A pipe,
    a device or an open file of this process (/dev/stdout) is written directly.

    Raises:
        UserError: the folder cannot be created or written, or its disk is full.
    """
    target = Path(path)
    if target.is_dir():
        raise UserError(f"cannot write {target}: it is a folder")
    if (target.exists() and not target.is_file()) or _OPEN.fullmatch(os.path.abspath(target)):
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder, "made")
            with open(Path(folder, "made"), "rb") as made, open(target, "ab") as out:
                shutil.copyfileobj(made, out)
        return
    target = Path(os.path.realpath(target))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    os.close(handle)
    mode = target.stat().st_mode & 0o777 if target.is_file() else 0o666 & ~_umask()
    try:
        yield Path(name)
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if reason := no_space(error):
            raise UserError(f"cannot write {path}: {reason}: {MAKE_ROOM}") from error
        raise


def read_small(path: Path) -> str:
    """Returns the text of a small file that this package wrote.

    Raises:
        UserError: the file is not UTF-8, so it is damaged
    """
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: is damaged: byte {error.start} is not UTF-8 text. Restore the file, or "
            "remove it and give the command that made it again."
        ) from None


def load_json(path: Path) -> Any:
    """Returns the content of a JSON file.

    Raises:
        UserError: an unreadable file, or no JSON; Python's NaN and infinities are none
    """
    try:
        return json.loads(path.read_text("utf-8"), parse_constant=_no_number)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON: {error}") from error


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number; score the translation again")


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Opens a file for UTF-8 text, with line feeds as line ends, as :func:`replacing`."""
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as out:
        yield out


def write_text(path: str | os.PathLike[str], text: str) -> None:
    with writing(path) as out:
        out.write(text)


def write_json(path: str | os.PathLike[str], values: Any) -> None:
    write_text(path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def write_lines(path: str | os.PathLike[str], lines: list[str]) -> None:
    """Writes UTF-8 lines, each ended by one line feed, under a temporary name first."""
    with writing(path) as out:
        out.writelines(line + "\n" for line in lines)


def write_parallel(paths: Sequence[str | os.PathLike[str]], rows: Iterable[Sequence[str]]) -> int:
    """Writes one line of each row to each file like :func:`write_lines`; returns the row count."""
    count = 0
    with ExitStack() as stack:
        outs = [stack.enter_context(writing(path)) for path in paths]
        for row in rows:
            count += 1
            for out, text in zip(outs, row, strict=True):
                out.write(text + "\n")
    return count


def sha256(*paths: str | os.PathLike[str]) -> str:
    """Returns the hexadecimal SHA-256 of files, as :func:`digest`."""
    return digest("sha256", *paths)


def digest(kind: str, *paths: str | os.PathLike[str]) -> str:
    """Returns a hexadecimal digest of the bytes of files, one after the other.

    It finds damage, not forgery.
    """
    result = hashlib.new(kind, usedforsecurity=False)
    for path in paths:
        with open(path, "rb") as stream:
            while block := stream.read(1 << 20):
                result.update(block)
    return result.hexdigest()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
