"""File helpers that never leave a half-written file, and typed JSON."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TextIO, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from .errors import UsageError, UserError, check_choices

T = TypeVar("T")
_OPEN = ("/dev/std", "/dev/fd/", "/proc/")  # may be a file, which must not be replaced
TAKEN = "exists already; take another name, or remove it"
PART = ".part"  # end of the name of a folder that is not whole yet
MAKE_ROOM = "make room, then give the same command again"
# a full disk, a reached quota, a limit on the size of files
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def no_space(error: BaseException | str) -> str | None:
    """Returns why the disk cannot be written, if an exception or output means that, else None."""
    if isinstance(error, UserError):
        return None  # it names the place already
    # torch's writer keeps the system's reason for itself, in two ways
    if isinstance(error, RuntimeError) and re.search("inline_container.cc|iostream", str(error)):
        return os.strerror(errno.ENOSPC)
    return next((reason for reason in map(os.strerror, FULL) if reason in str(error)), None)


def folder_problem(folder: Path) -> str | None:
    """Returns why the programs of a recipe cannot take a folder by this name; None if they can."""
    if set(str(folder)) & set(":,"):
        return f"'{folder}' has a ':' or ',', at which fairseq splits names"
    if "${" in str(folder):
        return f"'{folder}' has ${{, which fairseq takes for a setting's name"
    return None


def is_same_file(path: Path, other: Path) -> bool:
    """Returns True for one file by two names, links included; the file need not exist."""
    if path.resolve() == other.resolve():
        return True
    return path.is_file() and other.is_file() and path.samefile(other)


@contextmanager
def locked(path: Path, busy: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Holds a lock on a folder or a (new) file; calls `busy` before waiting for another process."""
    lock = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT, 0o666)
    # child processes hold the lock too, in case this process is killed
    os.set_inheritable(lock, True)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            busy()
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:  # a file system without locks
            reason = f"{path} cannot be locked ({error.strerror})"
            print(f"warning: {reason}: work in it with one command at a time", file=sys.stderr)
        yield
    finally:
        os.close(lock)


def is_locked(path: Path) -> bool:
    """Returns True while a process of this machine holds the lock of :func:`locked`."""
    if not path.exists():
        return False
    lock = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(lock)
    return False


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary name beside ``path``; renames it to ``path`` if the block succeeds.

    A link stays a link, and its target is replaced. An existing file keeps its permissions.

    Raises:
        UserError: `path` is a folder, a pipe or a device; the folder cannot be created or written,
            or its disk is full
    """
    target = Path(path)
    if (target.exists() and not target.is_file()) or os.path.abspath(path).startswith(_OPEN):
        raise UserError(f"cannot write {path}: it is a folder, a pipe or a device")
    target = Path(os.path.realpath(target))
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch()
        if target.is_file():
            shutil.copymode(target, temporary)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    try:
        yield temporary
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        check_space(path, error)
        raise


def check_space(path: str | os.PathLike[str], error: BaseException | str) -> None:
    """Raises UserError if an exception, or the output of a program, means that the disk is full."""
    if reason := no_space(error):
        raise UserError(f"{path}: {reason}: {MAKE_ROOM}")


@contextmanager
def making(folder: Path) -> Iterator[Path]:
    """Yields a new folder beside `folder`, and gives it the name if the block succeeds.

    Of two processes that make it at once, one gets the name, and the other fails.

    Raises:
        UserError: `folder` exists and is not empty, or its disk is full
    """
    target = Path(os.path.realpath(folder))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{folder} {TAKEN}")
    part = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.rmtree(part, ignore_errors=True)  # of a killed process that had this number
    try:
        part.mkdir(parents=True)
        yield part
        part.replace(target)  # only an empty folder can be there
    except BaseException as error:
        shutil.rmtree(part, ignore_errors=True)
        check_space(folder, error)
        if isinstance(error, OSError) and error.errno == errno.ENOTEMPTY:
            raise UsageError(f"{folder} {TAKEN}") from error
        raise


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


def write_lines(path: str | os.PathLike[str], lines: Iterable[str]) -> None:
    with writing(path) as out:
        out.writelines(f"{line}\n" for line in lines)


def write_parallel(paths: Sequence[str | os.PathLike[str]], rows: Iterable[Sequence[str]]) -> int:
    """Writes one line of each row to each file; returns the row count."""
    count = 0
    with ExitStack() as stack:
        outs = [stack.enter_context(writing(path)) for path in paths]
        for row in rows:
            count += 1
            for out, text in zip(outs, row, strict=True):
                out.write(text + "\n")
    return count


def digest(kind: str, *paths: str | os.PathLike[str]) -> str:
    """Returns a hexadecimal digest of the bytes of files; it finds damage, not forgery."""
    result = hashlib.new(kind, usedforsecurity=False)
    for path in paths:
        with open(path, "rb") as stream:
            hashlib.file_digest(stream, lambda: result)  # which updates it
    return result.hexdigest()


def sha256(*paths: str | os.PathLike[str]) -> str:
    return digest("sha256", *paths)


def load_json(path: Path) -> Any:
    """Returns the content of a JSON file.

    Raises:
        UserError: an unreadable file, or no JSON; Python's NaN and infinities are none
    """
    try:
        return msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON, so it is damaged: {error}") from error


def read_json(path: Path, kind: type[T]) -> T:
    """Returns the content of a JSON file as a dataclass or another type.

    Raises:
        UserError: an unreadable file, or an invalid key or value
    """
    return converted(path, load_json(path), kind, strict=True)


def converted(path: Path, values: Any, kind: type[T], strict: bool) -> T:
    """Returns the values of a file as a dataclass or another type.

    Raises:
        UserError: an invalid key or value
    """
    try:
        content: Any = msgspec.convert(values, kind, strict=strict)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        place, value, value_kind = _located(values, kind, place.strip(".`"), strict)
        if get_origin(value_kind) is Literal:
            reason = f"{value!r} is not one of {', '.join(get_args(value_kind))}"
        elif isinstance(value, str | int | float):  # msgspec says the type, and not the value
            reason = f"{reason.partition(', got')[0]}, not {value!r}"
        raise UserError(f"{path}: {place}: {reason}" if place else f"{path}: {reason}") from error
    # msgspec ignores keys that are no fields
    known = asdict(content) if is_dataclass(kind) else msgspec.to_builtins(content)
    _refuse_unknown_keys(path, "", values, known)
    return content


def _located(values: Any, kind: Any, place: str, strict: bool) -> tuple[str, Any, Any]:
    """Returns the key, value and type of the first invalid value at a place of msgspec's.

    The place, such as ``parts[...].format``, has dots for every key of a dictionary.
    """
    found = [("", values)]
    for name in re.findall(r"\[\.\.\.\]|\[\d+\]|\w+", place):
        kind = _kind_within(kind, name)
        if name == "[...]":
            found = [(f"{key}.{one}", item[one]) for key, item in found for one in item]
        elif name.startswith("["):
            found = [(f"{key}{name}", item[int(name[1:-1])]) for key, item in found]
        else:
            found = [(f"{key}.{name}", item[name]) for key, item in found if name in item]
    for key, value in found:
        try:
            msgspec.convert(value, kind, strict=strict)
        except msgspec.ValidationError:
            return key.removeprefix("."), value, kind
    return place, None, Any  # such as a key of a dictionary


def _kind_within(kind: Any, name: str) -> Any:
    """Returns the type of a field, or of the values of a dictionary or list; Any if unknown."""
    if get_origin(kind) in (Union, UnionType):
        kind = next((one for one in get_args(kind) if one is not type(None)), Any)
    if name.startswith("["):
        inside = get_args(kind) or (Any,)
        return inside[-1 if get_origin(kind) is dict else 0]
    hints = get_type_hints(kind, include_extras=True) if isinstance(kind, type) else {}
    return hints.get(name, Any)


def _refuse_unknown_keys(path: Path, place: str, values: Any, known: Any) -> None:
    """Raises UserError for a key of `values` that is not in `known`, which has the same form."""
    if isinstance(values, dict):
        for name, value in values.items():
            check_choices(f"{path}: {place}{name}", [name], known, error=UserError)
            _refuse_unknown_keys(path, f"{place}{name}.", value, known[name])
    elif isinstance(values, list):
        for number, (value, other) in enumerate(zip(values, known, strict=True)):
            _refuse_unknown_keys(path, f"{place.rstrip('.')}[{number}].", value, other)


def code_folder(module: str) -> str:
    """Returns what ``--user-dir`` has to name for a module: the folder of its package."""
    file = getattr(sys.modules[module.partition(".")[0]], "__file__", None)
    if file is None or not os.path.basename(file).startswith("__init__."):
        return module  # an installed file, or of a namespace, which has none
    return os.path.dirname(os.path.abspath(file))
