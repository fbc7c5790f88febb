"""Declares and applies changes to fairseq, torch, numpy and Python.

A change is an entry: a function with the decorator :func:`replace`, :func:`before` or
:func:`change`, which says what is changed, why, since which version, and which test covers it.
fairseq may be another version than the one that an entry was written for, so a function is replaced
only if its source has the digest in the entry. Otherwise the entry is left out, and ``dc-nmt
doctor`` says so.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

Function = Callable[..., Any]  # of fairseq, or its replacement

APPLIED, NOT_LOADED = "applied", "not loaded by this program"


@dataclass(frozen=True)
class Change:
    """Describes one entry.

    Attributes:
        name: name of the entry
        targets: ``module:attribute`` or ``module:Class.attribute`` → digest of its source
            (:func:`source_digest`); the digest is empty for a setting, which is no function
        reason: the fault without the entry
        since: the version that needs it
        test: the file that tests it, from the root of the repository
        loading: True for an entry that a user's own Python also gets; all others are only for
            fairseq's programs and ``dc-nmt``
        after: names of the entries that are applied before this one, because they change a function
            of `targets` too: the replacement of this entry calls their replacements
        make: the functions of `targets` → their replacements; for a setting, called without
            arguments to change it
    """

    name: str
    targets: Mapping[str, str]
    reason: str
    since: str
    test: str
    loading: bool
    after: tuple[str, ...]
    make: Function


CHANGES: list[Change] = []  # in the order of declaration
_states: dict[str, str] = {}


def replace(
    targets: Mapping[str, str],
    *,
    reason: str,
    test: str,
    since: str = "fairseq 0.12.2",
    loading: bool = False,
    after: str | tuple[str, ...] = (),
) -> Callable[[Function], Function]:
    """Declares that the decorated function makes replacements for functions.

    It gets the stock function of each target, and returns a replacement, or a tuple of them in the
    order of `targets`. The entry has its name. See :class:`Change` for the arguments.
    """

    def declare(make: Function) -> Function:
        names = (after,) if isinstance(after, str) else after
        CHANGES.append(Change(make.__name__, targets, reason, since, test, loading, names, make))
        return make

    return declare


def before(targets: Mapping[str, str], **details: Any) -> Callable[[Function], Function]:
    """Declares that the decorated function is called before a function, with its arguments."""

    def declare(first: Function) -> Function:
        def make(stock: Function) -> Function:
            def call(*args: Any, **kwargs: Any) -> Any:
                first(*args, **kwargs)
                return stock(*args, **kwargs)

            return call

        make.__name__ = first.__name__
        replace(targets, **details)(make)
        return first

    return declare


def change(target: str, **details: Any) -> Callable[[Function], Function]:
    """Declares that the decorated function changes a setting; see :class:`Change`."""
    return replace({target: ""}, **details)


def in_order() -> list[Change]:
    """Returns all entries in the order of application, each after those that it names."""
    by_name = {entry.name: entry for entry in CHANGES}
    order = TopologicalSorter({entry.name: entry.after for entry in CHANGES})
    return [by_name[name] for name in order.static_order()]


def apply_change(entry: Change, *, load: bool = False) -> str:
    """Applies an entry, unless this process has applied it already.

    Args:
        entry: the change
        load: also import programs of fairseq (``fairseq_cli``) that this process has not loaded

    Returns:
        ``applied``, ``not loaded by this program``, or the reason why the targets stay unchanged
    """
    if _states.get(entry.name, NOT_LOADED) == NOT_LOADED:
        _states[entry.name] = _apply(entry, load=load)
    return _states[entry.name]


def is_left_out(state: str) -> bool:
    """Returns True for a state that gives the reason why targets stay unchanged."""
    return state not in (APPLIED, NOT_LOADED)


def _apply(entry: Change, *, load: bool) -> str:
    if not all(entry.targets.values()):
        entry.make()
        return APPLIED
    places, functions = [], []
    for target, expected in entry.targets.items():
        module = program_module(target.partition(":")[0], load=load)
        if module is None:
            return NOT_LOADED
        *classes, attribute = target.partition(":")[2].split(".")
        owner = functools.reduce(lambda outer, name: getattr(outer, name, None), classes, module)
        stock = inspect.getattr_static(owner, attribute, None)
        if stock is None:
            return f"{target} is not there"
        function = getattr(stock, "__func__", stock)  # of a static method
        actual = source_digest(function)
        if actual != expected:
            return f"{target} is not what the change was written for (its source is {actual})"
        places.append((owner, attribute, type(stock)))
        functions.append(function)
    replacements = entry.make(*functions)
    if not isinstance(replacements, tuple):
        replacements = (replacements,)
    for (owner, attribute, kind), stock, new in zip(places, functions, replacements, strict=True):
        # this names what is replaced (__wrapped__), so that a second entry for the same function
        # still finds fairseq's own source
        functools.update_wrapper(new, stock)
        setattr(owner, attribute, staticmethod(new) if kind is staticmethod else new)
    return APPLIED


def program_module(name: str, *, load: bool) -> Any:
    """Returns a module; None for a program (fairseq_cli) that is not loaded and not to `load`."""
    if not name.startswith("fairseq_cli."):
        return importlib.import_module(name)
    if main_file().endswith(f"{name.replace('.', '/')}.py"):  # run as a file, or by python -m
        return sys.modules["__main__"]
    return importlib.import_module(name) if load else sys.modules.get(name)


def main_file() -> str:
    """Returns the path of the program that this process runs; "" without one, as in a session."""
    return getattr(sys.modules["__main__"], "__file__", None) or ""


def source_digest(function: Any) -> str:
    """Returns twelve hexadecimal digits of a function's source, without layout and comments.

    The source of a replaced function is that of fairseq. ``no source`` if it cannot be read.
    """
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return "no source"
    lines = [line.split("#")[0].strip() for line in source.splitlines()]
    text = "\n".join(line for line in lines if line)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
