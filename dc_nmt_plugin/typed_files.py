"""Reads YAML and JSON files into dataclasses. An error names the file, the key and what is valid.

A field's type says what it can hold: ``str``, ``int``, ``float``, ``bool``, ``Decimal`` (of YAML,
with its decimals), ``X | None``, ``list[X]``, ``tuple[X, ...]``, ``dict[str, X]``, a dataclass; in
JSON also several of the single values. YAML's text is taken as it is written.

- A field's metadata may have ``choices``, its valid values.
- In YAML, a field ``name`` in a mapping of dataclasses is the item's key.
- A field ``where`` is the file and the line, for later errors.
- In YAML, a dataclass with a field whose metadata has ``alone`` can be written as that field's
  value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal, InvalidOperation
from functools import cache
from itertools import repeat
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import yaml

from .errors import UserError, choice_problem

T = TypeVar("T")
_NULL = "tag:yaml.org,2002:null"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_KINDS = {int: "whole number", float: "number", Decimal: "number", str: "text"}
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


def read_yaml(path: Path, kind: type[T]) -> T:
    """Returns the content of a file as a dataclass.

    Raises:
        UserError: an unreadable file, or an invalid key or value
    """
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), _LOADER)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
    if root is None:
        raise UserError(f"{path}: is empty")
    found: T = _YamlReader(path).dataclass(root, kind, "")
    return found


def from_json(values: Any, kind: type[T], path: Path, advice: str, complete: bool = False) -> T:
    """Returns the content of a JSON file as a dataclass.

    Args:
        values: content
        kind: dataclass
        path: of the file
        advice: what an invalid key or value means, or what to do
        complete: fields with defaults may not be missing either

    Raises:
        UserError: an invalid key or value
    """
    found: T = _JsonReader(path, advice, complete).dataclass(values, kind, "")
    return found


class _Reader(ABC):
    """Walks a dataclass and a file together; a subclass knows the nodes of its format."""

    complete = False

    @abstractmethod
    def where(self, node: Any) -> str: ...

    @abstractmethod
    def is_null(self, node: Any) -> bool: ...

    @abstractmethod
    def pairs(self, node: Any, key: str) -> list[tuple[str, Any, Any]]:
        """Returns the name, the name's node and the value's node of every pair in a mapping."""

    @abstractmethod
    def items(self, node: Any, key: str) -> list[tuple[str, Any]]:
        """Returns the place and the node of every item in a list."""

    @abstractmethod
    def scalar(self, node: Any, kind: Any, key: str) -> Any: ...

    def problem(self, node: Any, key: str, sentence: str) -> UserError:
        return UserError(": ".join(filter(None, (self.where(node), key, sentence))))

    def check(self, node: Any, key: str, value: object, choices: Iterable[str]) -> None:
        problem = choice_problem(key, value, choices)
        if problem:
            raise self.problem(node, "", problem)

    def dataclass(self, node: Any, kind: Any, key: str, name: str | None = None) -> Any:
        """Returns an instance of a dataclass, whose key in a mapping is `name`."""
        known = _fields(kind)
        own = {"where": self.where(node), "name": name}
        values = {each: own[each] for each in own if each in known and own[each] is not None}
        valid = [each for each in known if each not in values]
        for each, place, value in self.given(node, known, key):
            inner = _joined(key, each)
            self.check(place, inner, each, valid)
            field, hint = known[each]
            found = self.value(value, hint, inner)
            if found is not None and "choices" in field.metadata:
                self.check(value, inner, found, field.metadata["choices"])
            values[each] = found
        for each, (field, _) in known.items():
            needed = self.complete or field.default is field.default_factory is MISSING
            if needed and each not in values:
                raise self.problem(node, _joined(key, each), "is missing")
        return kind(**values)

    def given(self, node: Any, known: Mapping[str, Any], key: str) -> list[tuple[str, Any, Any]]:
        return self.pairs(node, key)

    def value(self, node: Any, hint: Any, key: str, name: str | None = None) -> Any:
        parts = get_args(hint)
        if NoneType in parts:
            if self.is_null(node):
                return None
            (hint,) = (part for part in parts if part is not NoneType)
            parts = get_args(hint)
        if is_dataclass(hint):
            return self.dataclass(node, hint, key, name)
        origin = get_origin(hint)
        if origin is dict:
            return {
                each: self.value(value, parts[1], _joined(key, each), each)
                for each, _, value in self.pairs(node, key)
            }
        if origin in (list, tuple):
            items = self.items(node, key)
            kinds = parts if origin is tuple and parts[-1] is not Ellipsis else None
            if kinds and len(kinds) != len(items):
                raise self.problem(node, key, f"is not a list of {len(kinds)}")
            pairs = zip(items, kinds or repeat(parts[0]), strict=False)
            return origin(self.value(each, kind, place) for (place, each), kind in pairs)
        return self.scalar(node, hint, key)


class _YamlReader(_Reader):
    def __init__(self, path: Path) -> None:
        self._path = path

    def where(self, node: yaml.Node) -> str:
        return f"{self._path}, line {node.start_mark.line + 1}"

    def is_null(self, node: yaml.Node) -> bool:
        return bool(node.tag == _NULL)

    def given(
        self, node: yaml.Node, known: Mapping[str, Any], key: str
    ) -> list[tuple[str, Any, Any]]:
        alone = [name for name, (field, _) in known.items() if "alone" in field.metadata]
        if alone and isinstance(node, yaml.ScalarNode):
            return [(alone[0], node, node)]
        return self.pairs(node, key)

    def pairs(self, node: yaml.Node, key: str) -> list[tuple[str, Any, Any]]:
        if self.is_null(node):  # ``columns:`` with nothing behind it
            return []
        if not isinstance(node, yaml.MappingNode):
            raise self.problem(node, key, "is not a mapping of keys to values")
        names = [self.scalar(name, str, key) for name, _ in node.value]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise self.problem(node.value[number][0], key, f"{name!r} occurs twice")
        return [(name, *pair) for name, pair in zip(names, node.value, strict=True)]

    def items(self, node: yaml.Node, key: str) -> list[tuple[str, Any]]:
        if not isinstance(node, yaml.SequenceNode):
            raise self.problem(node, key, "is not a list")
        return [(key, each) for each in node.value]

    def scalar(self, node: yaml.Node, kind: Any, key: str) -> Any:
        text = node.value
        if not isinstance(node, yaml.ScalarNode):
            raise self.problem(node, key, "is not a single value")
        if kind is str:
            return " ".join(text.split()) if "\n" in text else text
        if kind is bool:
            if text not in _BOOLEANS:
                raise self.problem(node, key, f"{text!r} is neither true nor false")
            return _BOOLEANS[text]
        try:
            return kind(text)
        except (ValueError, InvalidOperation):
            raise self.problem(node, key, f"{text!r} is no {_KINDS[kind]}") from None


class _JsonReader(_Reader):
    def __init__(self, path: Path, advice: str, complete: bool) -> None:
        self._path, self._advice, self.complete = path, advice, complete

    def where(self, node: Any) -> str:
        return str(self._path)

    def problem(self, node: Any, key: str, sentence: str) -> UserError:
        return super().problem(node, key, f"{sentence.rstrip('.')}; {self._advice}")

    def is_null(self, node: Any) -> bool:
        return node is None

    def pairs(self, node: Any, key: str) -> list[tuple[str, Any, Any]]:
        if not isinstance(node, dict):
            raise self.problem(node, key, f"{node!r:.60} is no object")
        return [(name, node, value) for name, value in node.items()]

    def items(self, node: Any, key: str) -> list[tuple[str, Any]]:
        if not isinstance(node, list):
            raise self.problem(node, key, f"{node!r:.60} is no list")
        return [(f"{key}[{number}]", each) for number, each in enumerate(node)]

    def scalar(self, node: Any, kind: Any, key: str) -> Any:
        kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
        whole = isinstance(node, int) and float in kinds
        if (whole or isinstance(node, kinds)) and (bool in kinds or not isinstance(node, bool)):
            return node
        names = [_KINDS.get(each, "truth value") for each in kinds]
        raise self.problem(node, key, f"{node!r:.60} is no {' or '.join(dict.fromkeys(names))}")


def _joined(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


@cache
def _fields(kind: Any) -> dict[str, tuple[Field[Any], Any]]:
    """Returns name → field and type."""
    hints = get_type_hints(kind)
    return {field.name: (field, hints[field.name]) for field in fields(kind)}


def set_values(content: Any) -> dict[str, Any]:
    """Returns the fields of a dataclass that differ from their defaults, in their order."""
    kind: Any = type(content)
    return {
        name: getattr(content, name)
        for name, (field, _) in _fields(kind).items()
        if getattr(content, name) != _default(field)
    }


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()
