"""Reads YAML files into dataclasses. An error names the file, the line, the key and what is valid.

A field's type says what it can hold: ``str`` (the text as it is written), ``int``, ``float``,
``bool``, ``Decimal`` (with its decimals), ``X | None``, ``list[X]``, ``dict[str, X]``, a dataclass.

- A field's metadata may have ``choices``, its valid values.
- A field ``name`` in a mapping of dataclasses is the item's key.
- A field ``where`` is the file and the line, for later errors.
- A dataclass with a field whose metadata has ``alone`` can be written as that field's value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import yaml

from .errors import UserError, choice_problem

T = TypeVar("T")
_Pair = tuple[yaml.Node, yaml.Node]
_NULL = "tag:yaml.org,2002:null"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_KINDS = {int: "whole number", float: "number", Decimal: "number"}
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
    found: T = _Reader(path).dataclass(root, kind, "")
    return found


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path

    def _where(self, node: yaml.Node) -> str:
        return f"{self._path}, line {node.start_mark.line + 1}"

    def _problem(self, node: yaml.Node, key: str, sentence: str) -> UserError:
        return UserError(": ".join(filter(None, (self._where(node), key, sentence))))

    def _check(self, node: yaml.Node, key: str, value: object, choices: Iterable[str]) -> None:
        problem = choice_problem(key, value, choices)
        if problem:
            raise UserError(f"{self._where(node)}: {problem}")

    def dataclass(self, node: yaml.Node, kind: Any, key: str, name: str | None = None) -> Any:
        """Returns an instance of a dataclass, whose key in a mapping is `name`."""
        known = _fields(kind)
        own = {"where": self._where(node), "name": name}
        values = {each: own[each] for each in own if each in known and own[each] is not None}
        valid = [each for each in known if each not in values]
        for each, value in self._given(node, known, key):
            inner = _joined(key, each.value)
            self._check(each, inner, each.value, valid)
            field, hint = known[each.value]
            found = self._value(value, hint, inner)
            if found is not None and "choices" in field.metadata:
                self._check(value, inner, found, field.metadata["choices"])
            values[field.name] = found
        for field, _ in known.values():
            if field.name not in values and field.default is field.default_factory is MISSING:
                raise self._problem(node, _joined(key, field.name), "is missing")
        return kind(**values)

    def _given(self, node: yaml.Node, known: Mapping[str, Any], key: str) -> list[_Pair]:
        alone = [name for name, (field, _) in known.items() if "alone" in field.metadata]
        if alone and isinstance(node, yaml.ScalarNode):
            return [(yaml.ScalarNode("", alone[0], node.start_mark), node)]
        return self._pairs(node, key)

    def _pairs(self, node: yaml.Node, key: str) -> list[_Pair]:
        if node.tag == _NULL:  # ``columns:`` with nothing behind it
            return []
        if not isinstance(node, yaml.MappingNode):
            raise self._problem(node, key, "is not a mapping of keys to values")
        names = [self._scalar(name, str, key) for name, _ in node.value]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise self._problem(node.value[number][0], key, f"{name!r} occurs twice")
        return list(node.value)

    def _value(self, node: yaml.Node, hint: Any, key: str, name: str | None = None) -> Any:
        parts = get_args(hint)
        if NoneType in parts:
            if node.tag == _NULL:
                return None
            (hint,) = (part for part in parts if part is not NoneType)
            parts = get_args(hint)
        if is_dataclass(hint):
            return self.dataclass(node, hint, key, name)
        if get_origin(hint) is dict:
            return {
                each.value: self._value(value, parts[1], _joined(key, each.value), each.value)
                for each, value in self._pairs(node, key)
            }
        if get_origin(hint) is list:
            if not isinstance(node, yaml.SequenceNode):
                raise self._problem(node, key, "is not a list")
            return [self._value(each, parts[0], key) for each in node.value]
        return self._scalar(node, hint, key)

    def _scalar(self, node: yaml.Node, kind: Any, key: str) -> Any:
        text = node.value
        if not isinstance(node, yaml.ScalarNode):
            raise self._problem(node, key, "is not a single value")
        if kind is str:
            return " ".join(text.split()) if "\n" in text else text
        if kind is bool:
            if text not in _BOOLEANS:
                raise self._problem(node, key, f"{text!r} is neither true nor false")
            return _BOOLEANS[text]
        try:
            return kind(text)
        except (ValueError, InvalidOperation):
            raise self._problem(node, key, f"{text!r} is no {_KINDS[kind]}") from None


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
