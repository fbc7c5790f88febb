"""Reads YAML with scalars as text; errors name file and place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import yaml

from ..errors import UserError, choice_problem


class _Loader(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):  # type: ignore[misc]
    """Keeps scalars as text, so that 28.80 keeps its decimals; refuses repeated keys."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.YAMLError(f"{key!r} occurs twice, {str(node.start_mark).strip()}")
        return super().construct_mapping(node, deep)


_Loader.add_constructor(
    "tag:yaml.org,2002:map", lambda loader, node: loader.construct_mapping(node, deep=True)
)


class Node:
    """A mapping of a file.

    Args:
        values: the mapping
        where: file and place, for errors
        keys: those it may have; None: any
    """

    def __init__(self, values: Any, where: str, keys: Iterable[str] | None = None) -> None:
        if not isinstance(values, Mapping):
            raise UserError(f"{where}: {values!r} is no mapping of keys to values")
        for key in values if keys is not None else ():
            problem = choice_problem(f"{where}: key", key, keys or ())
            if problem:
                raise UserError(problem)
        self.values, self.where = dict(values), where

    def problem(self, sentence: str) -> UserError:
        return UserError(f"{self.where}: {sentence}")

    def text(self, key: str, default: str | None = None) -> str:
        """Returns a scalar; it is required without a default."""
        value = self.values.get(key, default)
        if value is None:
            raise self.problem(f"{key} is missing")
        if not isinstance(value, str):
            raise self.problem(f"{key}: {value!r} is no text")
        return " ".join(value.split())

    def number(self, key: str) -> Decimal | None:
        """Returns a number as printed; None if the key is missing."""
        if key not in self.values:
            return None
        try:
            return Decimal(self.text(key))
        except InvalidOperation:
            raise self.problem(f"{key}: {self.values[key]!r} is no number") from None

    def choice(self, key: str, choices: Iterable[str], default: str | None = None) -> str:
        value = self.text(key, default)
        problem = choice_problem(f"{self.where}: {key}", value, choices)
        if problem:
            raise UserError(problem)
        return value

    def texts(self, key: str) -> list[str]:
        """Returns a list of scalars; empty if the key is missing."""
        values = self.values.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise self.problem(f"{key}: {values!r} is no list of texts")
        return values

    def nodes(self, key: str, keys: Iterable[str], name: str) -> list[Node]:
        """Returns a list of mappings; errors name each by its key `name`."""
        values = self.values.get(key, [])
        if not isinstance(values, list):
            raise self.problem(f"{key}: {values!r} is no list")
        found = []
        for number, value in enumerate(values, 1):
            label = value.get(name) if isinstance(value, Mapping) else None
            found.append(Node(value, f"{self.where}, {label or f'{key} {number}'}", keys))
        return found

    def named(self, key: str, keys: Iterable[str] | None) -> dict[str, Node]:
        """Returns a mapping of names to mappings."""
        values = Node(self.values.get(key, {}), f"{self.where}, {key}").values
        return {
            name: Node(value or {}, f"{self.where}, {name}", keys) for name, value in values.items()
        }

    def refuse_unknown(self, key: str, names: Iterable[str], known: Iterable[str]) -> None:
        """Raises UserError at a name that is not known."""
        for name in names:
            problem = choice_problem(f"{self.where}: {key}", name, known)
            if problem:
                raise UserError(problem)

    def refuse_twice(self, what: str, names: list[str]) -> None:
        """Raises UserError at a name that occurs twice."""
        for name in names:
            if names.count(name) > 1:
                raise self.problem(f"{what} {name!r} occurs twice")


def read_yaml(path: Path, keys: Iterable[str]) -> Node:
    """Returns the mapping in a file.

    Raises:
        UserError: unreadable, no mapping, a key twice or unknown
    """
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{path}: {' '.join(str(error).split())}") from error
    return Node(values, path.name, keys)
