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
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, TextIO, TypeVar

import msgspec
import yaml

from .errors import UserError, choice_problem

T = TypeVar("T")

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
            temporary = Path(folder, "new")
            yield temporary
            with open(temporary, "rb") as source, open(target, "ab") as out:
                shutil.copyfileobj(source, out)
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
        reason = no_space(error)
        if reason:
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


def read_yaml(path: Path, kind: type[T]) -> T:
    """Returns the content of a YAML file as a dataclass, a msgspec.Struct or another type.

    Single values are read as the type says, from their text: 27.50 keeps its decimals as a
    ``Decimal``, and ``no`` stays a word as a ``str``. Choices are ``Literal["a", "b"]``.

    Raises:
        UserError: an unreadable file, or an invalid key or value
    """
    try:
        values = yaml.load(path.read_text("utf-8"), _TextLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
    if values is None:
        raise UserError(f"{path}: is empty")
    return _converted(path, values, kind, strict=False)


def read_json(path: Path, kind: type[T]) -> T:
    """Returns the content of a JSON file as a dataclass, a msgspec.Struct or another type.

    Raises:
        UserError: an unreadable file, or an invalid key or value
    """
    return _converted(path, load_json(path), kind, strict=True)


class _TextLoader(yaml.SafeLoader):
    """Keeps single values as text, and null as None; refuses a key that occurs twice."""

    def construct_text(self, node: yaml.ScalarNode) -> str:
        text = str(node.value)
        if re.fullmatch(r"\d{1,3}(_\d{3})+", text):  # YAML's 200_000, which msgspec does not read
            return text.replace("_", "")
        return " ".join(text.split()) if "\n" in text else text

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [self.construct_object(name, deep=True) for name, _ in node.value]
        for number, name in enumerate(names):
            if name in names[:number]:
                line = node.value[number][0].start_mark
                raise yaml.constructor.ConstructorError(None, None, f"{name!r} occurs twice", line)
        return super().construct_mapping(node, deep)


for _tag in ("bool", "int", "float", "str", "timestamp", "binary", "value"):
    _TextLoader.add_constructor(f"tag:yaml.org,2002:{_tag}", _TextLoader.construct_text)


def _converted(path: Path, values: Any, kind: type[T], strict: bool) -> T:
    try:
        content = msgspec.convert(values, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise UserError(_invalid(path, values, kind, strict, str(error))) from error
    _refuse_unknown_keys(path, "", values, content)
    return content


def _invalid(path: Path, values: Any, kind: Any, strict: bool, message: str) -> str:
    """Returns one sentence with the file, the key and the value for an error of msgspec."""
    reason, _, place = message.partition(" - at `$")
    keys, value = [], values
    for name, number in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", place):
        if number == "...":  # msgspec leaves the key of a mapping out
            name = _failing_key(values, kind, strict, value, message)
        keys.append(name or f"[{number}]")
        value = value[name] if name else value[int(number)]
    where = ".".join(keys).replace(".[", "[")
    shown = f" {value!r:.60}:" if where and not isinstance(value, dict | list) else ""
    return ": ".join(filter(None, (str(path), where))) + f":{shown} {reason}"


def _failing_key(values: Any, kind: Any, strict: bool, mapping: Any, message: str) -> Any:
    """Returns the key whose value, alone in its mapping, gives the same error."""
    items = dict(mapping)
    for name, value in items.items():
        mapping.clear()
        mapping[name] = value
        try:
            msgspec.convert(values, kind, strict=strict)
        except msgspec.ValidationError as error:
            if str(error) == message:
                break
    mapping.update(items)
    return name


def _refuse_unknown_keys(path: Path, place: str, values: Any, content: Any) -> None:
    """Raises UserError for a key that is no field; msgspec ignores such keys in dataclasses."""
    if is_dataclass(content):
        known = {field.name: field.name for field in fields(content)}
    elif isinstance(content, msgspec.Struct):
        known = dict(zip(content.__struct_encode_fields__, content.__struct_fields__, strict=True))
    elif isinstance(content, dict):
        for (name, value), inner in zip(values.items(), content.values(), strict=True):
            _refuse_unknown_keys(path, f"{place}{name}.", value, inner)
        return
    elif isinstance(content, list | tuple):
        for number, (value, inner) in enumerate(zip(values, content, strict=True)):
            _refuse_unknown_keys(path, f"{place.rstrip('.')}[{number}].", value, inner)
        return
    else:
        return
    for name, value in values.items():
        problem = choice_problem(f"{place}{name}", name, known)
        if problem:
            raise UserError(f"{path}: {problem}")
        _refuse_unknown_keys(path, f"{place}{name}.", value, getattr(content, known[name]))


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
            hashlib.file_digest(stream, lambda: result)  # which updates it
    return result.hexdigest()


def _umask() -> int:
    current = os.umask(0)  # it can only be read by setting it
    os.umask(current)
    return current
