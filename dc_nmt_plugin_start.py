"""Prepares the start of fairseq's programs. On Python 3.14, fairseq cannot be imported without it.

A patch of this plugin begins with ``--user-dir``, which fairseq reads after its own import. But
fairseq imports torch first, and torch calls :func:`prepare`: pyproject.toml names it in the group
of entry points ``torch.backends``. Other programs are left as they are.

This module is outside the package: fairseq skips a ``--user-dir`` that has been imported already.
"""

import argparse
import functools
import sys
import types
import warnings
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any, Union, get_args, get_origin

# Of fairseq's calls of torch and Hydra while it is imported; the plugin silences later ones.
_NOISE = (r"`torch\.jit\.script", r"\s*The version_base parameter is not specified")


def prepare() -> None:
    """Silences what fairseq's programs warn of at their start; on Python 3.14, lets them start."""
    if "fairseq_cli" in sys.modules:
        for message in _NOISE:
            warnings.filterwarnings("ignore", message)
    if sys.version_info >= (3, 14):
        for module in _CHANGES:
            if module in sys.modules:
                _change(sys.modules[module])
        sys.meta_path.insert(0, _Finder)


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


class _Finder:
    """Finds the modules of :data:`_CHANGES` where Python does, and changes them once loaded."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in _CHANGES else None
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            load(module)
            _change(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
