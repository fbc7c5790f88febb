"""Reads YAML as a dataclass or another type."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeVar

import yaml

from ..errors import UserError
from ..files import converted

T = TypeVar("T")


def read_yaml(path: Path, kind: type[T]) -> T:
    """Returns the content of a YAML file as a dataclass or another type.

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
    return converted(path, values, kind, strict=False)


class _TextLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
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
        return dict(super().construct_mapping(node, deep))


for _tag in ("bool", "int", "float", "str", "timestamp", "binary", "value"):
    _TextLoader.add_constructor(f"tag:yaml.org,2002:{_tag}", _TextLoader.construct_text)
