"""Reads type, message and raising function of a failure, also from the text of a traceback."""

from __future__ import annotations

import builtins
import os
import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Any

from ..errors import spawned_traceback

_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
_FRAME = re.compile(r'^  File "(.+)", line \d+, in (\S+)$', re.M)
_LAST_LINES = re.compile(r"^([A-Za-z_][\w.]*)(?:: (.*))?$", re.M | re.S)


@dataclass(frozen=True)
class Failure:
    """Holds the properties of an exception that the table of known failures uses.

    Attributes:
        kinds: names of the exception's type and of the type's parents, as a traceback prints them
        message: the exception's message in one line
        place: ``module:function`` of the innermost frame outside Python's standard library
        path: the file that the operating system refused
        reason: the operating system's message
    """

    kinds: tuple[str, ...]
    message: str
    place: str
    path: str | None = None
    reason: str | None = None

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Reads a failure from the exception; a spawned process's from its text."""
        text = spawned_traceback(error)
        if text is not None:
            return cls._of_text(text)
        path = reason = None
        if isinstance(error, OSError) and isinstance(error.filename, (str, bytes, os.PathLike)):
            path, reason = os.fsdecode(error.filename), error.strerror
        message = _line(str(error))
        return cls(_names(type(error)), message, _place(error.__traceback__), path, reason)

    @classmethod
    def _of_text(cls, text: str) -> Failure:
        frames = [
            (_module_of_file(file), file, function) for file, function in _FRAME.findall(text)
        ]
        places = [
            f"{module}:{function}" for module, file, function in frames if not _standard(file)
        ]
        found = _LAST_LINES.search(text)
        name, message = (found[1], _line(found[2] or "")) if found else ("", "")
        system = re.fullmatch(r"\[Errno \d+\] (.*): '(.*)'", message)
        path, reason = (system[2], system[1]) if system else (None, None)
        return cls(_names(_type(name)) or (name,), message, (places or [""])[-1], path, reason)

    def is_a(self, *names: str) -> bool:
        """Returns True when the exception's type or one of its parents has one of the names."""
        return bool(set(self.kinds) & set(names))

    def raised_in(self, *places: str) -> bool:
        """Returns True when the place matches one of the patterns ``module:function``."""
        return any(fnmatchcase(self.place, pattern) for pattern in places)


def _names(kind: type | None) -> tuple[str, ...]:
    parents = kind.__mro__ if kind else ()
    return tuple(
        parent.__qualname__
        if parent.__module__ == "builtins"
        else f"{parent.__module__}.{parent.__qualname__}"
        for parent in parents
    )


def _type(name: str) -> type | None:
    module, _, own = name.rpartition(".")
    found: Any = getattr(sys.modules.get(module, builtins), own, None)
    return found if isinstance(found, type) else None


def _line(message: str) -> str:
    return " ".join(message.split())


def _place(traceback: TracebackType | None) -> str:
    place = ""
    while traceback is not None:
        code, names = traceback.tb_frame.f_code, traceback.tb_frame.f_globals
        if not _standard(code.co_filename):
            # `python -m fairseq_cli.train` calls its module __main__
            spec = names.get("__spec__") if names.get("__name__") == "__main__" else None
            module = spec.name if spec else names.get("__name__", "")
            place = f"{module}:{code.co_name}"
        traceback = traceback.tb_next
    return place


def _standard(file: str) -> bool:
    inside = file.startswith(_STANDARD_LIBRARY) and "-packages" not in file
    return inside or file.startswith("<frozen ")


def _module_of_file(file: str) -> str:
    if file.endswith(".pyx"):  # Cython's frames name the file from the package's parent
        return file.removesuffix(".pyx").replace("/", ".")
    modules = list(sys.modules.items())
    return next((name for name, module in modules if getattr(module, "__file__", "") == file), "")
