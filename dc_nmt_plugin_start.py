"""Prepares and shortens the start of fairseq's programs. Python 3.14 needs it to import fairseq.

A patch of this plugin begins with ``--user-dir``, which fairseq reads after its own import. But
fairseq imports torch first, and torch calls :func:`prepare`: pyproject.toml names it in the group
of entry points ``torch.backends``. Other programs are left as they are.

This module is outside the package: fairseq skips a ``--user-dir`` that has been imported already.
"""

import argparse
import builtins
import functools
import gc
import importlib
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any, Union, get_args, get_origin

# Of fairseq's calls of torch and Hydra while it is imported; the plugin silences later ones.
_NOISE = (r"`torch\.jit\.script", r"\s*The version_base parameter is not specified")

# of fairseq, and dc-nmt
_PROGRAMS = ("fairseq_cli", "dc_nmt_plugin.cli")


def prepare() -> None:
    """Silences and shortens the start of fairseq's programs; on Python 3.14, lets them start."""
    if any(program in sys.modules for program in _PROGRAMS):
        for message in _NOISE:
            warnings.filterwarnings("ignore", message)
        sys.meta_path.insert(0, _Finder(_AROUND))
    if sys.version_info >= (3, 14):
        for module in _CHANGES:
            if module in sys.modules:
                _change(sys.modules[module])
        sys.meta_path.insert(0, _Finder(dict.fromkeys(_CHANGES, _changing)))


def read_optional_types(stock: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns fairseq's ``interpret_dc_type``, with X for any form of ``Optional[X]``.

    fairseq recognises ``Optional[X]`` by its text, which is ``X | None`` since Python 3.14.
    """

    @functools.wraps(stock)
    def interpret_dc_type(field_type: Any) -> Any:
        found = stock(field_type)
        if get_origin(found) in (Union, types.UnionType):
            left = [kind for kind in get_args(found) if kind is not type(None)]
            if len(left) == 1:
                return left[0]
        return found

    return interpret_dc_type


def accept_late_help(stock: Callable[[], Any]) -> Callable[[], Any]:
    """Returns Hydra's ``get_args_parser`` with help texts that argparse does not read.

    One of these texts is an object that Hydra turns into text later; since Python 3.14, argparse
    reads each text when its option is added.
    """

    @functools.wraps(stock)
    def get_args_parser() -> Any:
        parser_class = argparse.ArgumentParser
        add, own = parser_class.add_argument, vars(parser_class).get("add_argument")

        def add_argument(self: Any, *words: str, help: Any = None, **settings: Any) -> Any:
            action = add(self, *words, **settings)
            action.help = help
            return action

        parser_class.add_argument = add_argument  # type: ignore[method-assign]
        try:
            return stock()
        finally:
            if own is None:
                del parser_class.add_argument
            else:  # set by this function around itself: hydra.main has it from hydra._internal
                parser_class.add_argument = own  # type: ignore[method-assign]

    return get_args_parser


# module → its function, and what is made of that function
_CHANGES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "fairseq.dataclass.utils": ("interpret_dc_type", read_optional_types),
    "hydra._internal.utils": ("get_args_parser", accept_late_help),
    "hydra.main": ("get_args_parser", accept_late_help),  # has taken it from there
}


def _change(module: Any) -> None:
    name, make = _CHANGES[module.__name__]
    setattr(module, name, make(getattr(module, name)))


@contextmanager
def _changing(module: Any) -> Iterator[None]:
    yield
    _change(module)


@contextmanager
def without_collecting(module: Any = None) -> Iterator[None]:
    """Imports without garbage collection, and leaves the imported objects out of later ones.

    The import of fairseq makes half a million objects, nearly all for good.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


# Of tasks that classify audio and sentences. The import takes a third of a program's start.
_LATE = ("sklearn", "sklearn.metrics", "scipy.stats")


class _Late(types.ModuleType):
    """Stands for a module of :data:`_LATE`; its functions import that module when called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        inner = f"{self.__name__}.{name}"
        return _Late(inner) if inner in _LATE else functools.partial(_call, self.__name__, name)


def _call(module: str, name: str, /, *args: Any, **kwargs: Any) -> Any:
    return getattr(importlib.import_module(module), name)(*args, **kwargs)


def _import(name: str, *args: Any) -> Any:
    """Imports as Python does, but gives a stand-in for ``from MODULE import …`` of `_LATE`."""
    names = args[2] if len(args) > 2 else ()
    return _Late(name) if names and name in _LATE else builtins.__import__(name, *args)


@contextmanager
def functions_later(module: Any) -> Iterator[None]:
    """Imports a module of fairseq without :data:`_LATE`; other modules get the real ones."""
    vars(module)["__builtins__"] = {**vars(builtins), "__import__": _import}
    yield


# module → what surrounds its import
_AROUND: dict[str, Callable[[Any], Any]] = {
    "fairseq": without_collecting,
    "fairseq.criterions.sentence_prediction": functions_later,
    "fairseq.tasks.audio_classification": functions_later,
}


class _Finder:
    """Finds modules where Python does, and surrounds their execution."""

    def __init__(self, around: dict[str, Callable[[Any], Any]]) -> None:
        self.around = around

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        around = self.around.get(name)
        spec = PathFinder.find_spec(name, path, target) if around else None
        if around is None or spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            with around(module):
                load(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
