"""Declares, checks and applies patches of fairseq, torch, numpy and Python."""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

APPLIED, NOT_NEEDED, NOT_LOADED = "applied", "not needed here", "not loaded by this program"
_MARK = "_dc_nmt_patch"


@dataclass(frozen=True)
class Patch:
    """Describes one patch.

    Attributes:
        name: of the patch
        target: the changed attribute, ``module:attribute`` or ``module:Class.attribute``
        reason: the fault without the patch
        since: the version of the target's package that needs it, and when it can be removed
        expected: digests of the target's source for which the patch was written (:func:`digest`);
            empty where `needed` decides
        test: the file that tests it, from the root of the repository
        loading: needed for loading and translating in a user's Python program; all other patches
            are only for fairseq's programs
        needed: feature test; the patch is left out where it returns False
        make: stock object → its replacement; if `expected` is empty and `target` is not a
            function, called without arguments to change the target itself
    """

    name: str
    target: str
    reason: str
    since: str
    expected: tuple[str, ...]
    test: str
    loading: bool
    needed: Callable[[], bool] | None
    make: Callable[..., Any]

    @property
    def module(self) -> str:
        return self.target.partition(":")[0]

    @property
    def replaces_a_function(self) -> bool:
        """Returns whether it replaces a function; otherwise it changes a setting."""
        return bool(self.expected)


@dataclass(frozen=True)
class State:
    """Holds the outcome of a patch in this process.

    Attributes:
        patch: the patch
        state: ``applied``, ``not needed here``, ``not loaded by this program``, or the reason why
            the target stays unchanged
    """

    patch: Patch
    state: str

    @property
    def left_alone(self) -> bool:
        return self.state not in (APPLIED, NOT_NEEDED, NOT_LOADED)


_declared: dict[str, Patch] = {}
_states: dict[str, State] = {}


def replaces(
    target: str,
    *expected: str,
    reason: str,
    since: str,
    test: str,
    loading: bool = False,
    needed: Callable[[], bool] | None = None,
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Declares a patch: the decorated function turns the stock function into its replacement.

    The patch has the decorated function's name. It is applied only where the source of the target
    has one of the digests `expected`. See :class:`Patch` for the arguments.
    """

    def declare(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
        _declare(Patch(make.__name__, target, reason, since, expected, test, loading, needed, make))
        return make

    return declare


def changes(
    target: str,
    *,
    reason: str,
    since: str,
    test: str,
    loading: bool = False,
    needed: Callable[[], bool] | None = None,
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Declares a patch of a setting: the decorated function, without arguments, changes it."""

    def declare(make: Callable[[], None]) -> Callable[[], None]:
        _declare(Patch(make.__name__, target, reason, since, (), test, loading, needed, make))
        return make

    return declare


def _declare(patch: Patch) -> None:
    if patch.name in _declared:
        raise ValueError(f"two patches are named {patch.name!r}")
    _declared[patch.name] = patch


def declared() -> list[Patch]:
    """Returns all patches in the order of application."""
    return list(_declared.values())


def apply_all(patches: Iterable[Patch], *, load: bool = False) -> list[State]:
    """Applies patches; keeps those that are already applied.

    Args:
        patches: to apply
        load: import programs of fairseq (``fairseq_cli``) to patch them; otherwise patch only
            programs that this process has loaded
    """
    done = []
    for patch in patches:
        known = _states.get(patch.name)
        if known is None or known.state == NOT_LOADED:
            known = _states[patch.name] = State(patch, _apply(patch, load=load))
        done.append(known)
    return done


def _apply(patch: Patch, *, load: bool) -> str:
    if patch.needed is not None and not patch.needed():
        return NOT_NEEDED
    if not patch.replaces_a_function:
        patch.make()
        return APPLIED
    places = list(_places(patch, load=load))
    if not places:
        return NOT_LOADED
    for owner, attribute in places:
        problem = _replace(patch, owner, attribute)
        if problem is not None:
            return problem
    return APPLIED


def _places(patch: Patch, *, load: bool) -> Iterable[tuple[Any, str]]:
    """Yields (owner, attribute) of the target; two pairs for a program run by ``python -m``."""
    module, _, path = patch.target.partition(":")
    *classes, attribute = path.split(".")
    if module.startswith("fairseq_cli."):
        modules = [sys.modules.get(module), _main_of(module)]
        if load and modules[0] is None:
            modules[0] = importlib.import_module(module)
    else:
        modules = [importlib.import_module(module)]
    for found in modules:
        if found is not None:
            yield functools.reduce(lambda o, n: getattr(o, n, None), classes, found), attribute


def _main_of(module: str) -> Any:
    """Returns ``__main__`` if it is that module, run by name or as a file."""
    main = sys.modules.get("__main__")
    path = (getattr(main, "__file__", None) or "").removesuffix(".py").replace("\\", "/")
    return main if path.endswith(module.replace(".", "/")) else None


def _replace(patch: Patch, owner: Any, attribute: str) -> str | None:
    """Replaces the target; returns None, or the reason why it stays unchanged."""
    static = inspect.getattr_static(owner, attribute, None)
    kind = type(static) if isinstance(static, (classmethod, staticmethod)) else None
    stock = static if kind is None else static.__func__
    if stock is None:
        return f"{patch.target} is not there"
    if getattr(stock, _MARK, None) == patch.name:
        return None
    found = digest(stock)
    if found not in patch.expected:
        return f"{patch.target} is not what the patch was written for (its source is {found})"
    made = functools.update_wrapper(patch.make(stock), stock)
    setattr(made, _MARK, patch.name)
    setattr(owner, attribute, made if kind is None else kind(made))
    return None


def digest(function: Any) -> str:
    """Returns twelve hexadecimal digits of a function's source, without layout and comments.

    ``no source`` if the source cannot be read.
    """
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return "no source"
    words = [line.split("#")[0].strip() for line in source.splitlines()]
    text = "\n".join(word for word in words if word)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
