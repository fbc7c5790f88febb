"""Reads YAML files into dataclasses; refuses unknown keys and wrong types."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import yaml
from omegaconf import MISSING, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ..errors import UserError, choice_problem

T = TypeVar("T")


def read_yaml(path: Path, kind: type[T]) -> tuple[T, dict[str, Any]]:
    """Reads a file.

    A field's metadata may have ``choices``. In a mapping of dataclasses, a field ``name`` is the
    item's key.

    Args:
        path: the file
        kind: dataclass of the whole file; its annotations must be types, not strings

    Returns:
        the content with all defaults, and as written

    Raises:
        UserError: an unreadable file, or an invalid key or value (the message has both)
    """
    try:
        written = OmegaConf.load(path)
        merged = OmegaConf.merge(OmegaConf.structured(kind), written)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _unreadable(path, error) from error
    except OmegaConfBaseException as error:
        raise UserError(f"{path}: {_sentence(error)}") from error
    result = _build(f"{path}: ", kind, OmegaConf.to_container(merged))
    return result, OmegaConf.to_container(written)  # type: ignore[return-value]


def read_plain(path: Path) -> dict[str, Any]:
    """Reads the mapping of a file quickly, without checks.

    Raises:
        UserError: the file cannot be read, or is not a mapping
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _unreadable(path, error) from error
    if not isinstance(content, dict):
        raise UserError(f"{path}: is not a mapping")
    return content


def _unreadable(path: Path, error: Exception) -> UserError:
    return UserError(f"{path}: cannot be read: {' '.join(str(error).split())}")


def _sentence(error: OmegaConfBaseException) -> str:
    kind = error.object_type
    if error.key is not None and is_dataclass(kind):
        problem = choice_problem(str(error.full_key), error.key, [f.name for f in fields(kind)])
        if problem:
            return problem
    what = str(error).split("\n")[0] or f"{error.value!r} cannot be its value"
    return f"{error.full_key}: {what}" if error.full_key else what


def _build(place: str, hint: Any, value: Any) -> Any:
    if get_origin(hint) is dict:
        inner = get_args(hint)[1]
        return {str(key): _item(f"{place}{key}", inner, key, v) for key, v in value.items()}
    if not is_dataclass(hint):
        return value
    hints = get_type_hints(hint)
    values = {}
    for field in fields(hint):
        name, given = field.name, value[field.name]
        if given == MISSING:
            raise UserError(f"{place}{name}: is missing")
        choices = field.metadata.get("choices")
        problem = choice_problem(f"{place}{name}", given, choices) if choices else None
        if problem:
            raise UserError(problem)
        values[name] = _build(f"{place}{name}.", hints[name], given)
    return hint(**values)  # type: ignore[operator]


def _item(place: str, hint: Any, key: object, value: Any) -> Any:
    named = is_dataclass(hint) and "name" in {field.name for field in fields(hint)}
    if named and value["name"]:
        raise UserError(f"{place}.name: is the key itself, {key!r}; leave it out")
    return _build(f"{place}.", hint, {**value, "name": str(key)} if named else value)
