"""``recipe.ini`` as sections whose every key is known."""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from pathlib import Path

from ..errors import UserError, choice_problem

# kind of section (what stands before its colon) → its keys; "*" stands for language codes,
# None for keys that are free
KEYS: Mapping[str, tuple[str, ...] | None] = {
    "task": ("title", "pair", "directions", "papers", "licence", "pair_bytes", "nearby"),
    "file": ("urls", "sha256", "md5", "bytes", "inside", "also", "note"),
    "part": ("format", "lines", "optional", "tokenised", "titles", "apostrophe", "*"),
    "splits": (
        *("train", "valid", "test", "train_lines", "valid_lines", "test_lines"),
        *("seed", "exclude_test"),
    ),
    "text": ("tokenizer", "hyphens", "casing", "punctuation", "max_tokens", "ratio", "undo"),
    "bpe": ("operations", "joint", "dictionary", "max_tokens", "ratio", "vocabulary"),
    "settings": (
        *(
            "like",
            "source",
            "size",
            "label",
            "bpe",
            "tokens",
            "max_tokens",
            "updates",
            "save_every",
        ),
        *("save_every", "average", "flags", "decode", "paper", "metrics"),
    ),
    "published": None,
}
KEYS = {**KEYS, "paper": KEYS["settings"]}


class Section:
    """One section of a recipe: typed access to its keys, errors that name file and key.

    Args:
        path: the file
        name: the section, such as ``part:train``
        values: keys and their text
    """

    def __init__(self, path: Path, name: str, values: Mapping[str, str]) -> None:
        self.path, self.name, self.values = path, name, dict(values)

    def problem(self, key: str, sentence: str) -> UserError:
        """An error about a key's value."""
        return UserError(f"{self.path}, [{self.name}] {key}: {sentence}")

    def text(self, key: str, default: str | None = None) -> str:
        """A key's text; without a default it has to be there."""
        value = self.values.get(key, default)
        if value is None:
            raise self.problem(key, "is missing")
        return value.strip()

    def words(self, key: str) -> list[str]:
        """White-space separated words; none where the key is missing."""
        return self.text(key, "").split()

    def lines(self, key: str) -> list[str]:
        """Lines that are not blank."""
        return [line.strip() for line in self.text(key, "").splitlines() if line.strip()]

    def number(self, key: str, default: int | None = None) -> int | None:
        """A whole number, written with or without thousands separators."""
        text = self.text(key, "").replace(",", "")
        if not text:
            return default
        if not text.isdigit():
            raise self.problem(key, f"{text!r} is not a whole number")
        return int(text)

    def decimal(self, key: str, default: float) -> float:
        """A number such as 1.5."""
        text = self.text(key, str(default))
        try:
            return float(text)
        except ValueError as error:
            raise self.problem(key, f"{text!r} is not a number") from error

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """One of ``choices``, the first where the key is missing."""
        value = self.text(key, choices[0])
        problem = choice_problem(f"{self.path}, [{self.name}] {key}", value, choices)
        if problem:
            raise UserError(problem)
        return value

    def yes(self, key: str) -> bool:
        """yes or no; no where the key is missing."""
        return self.choice(key, ("no", "yes")) == "yes"


def read_ini(path: Path) -> dict[str, Section]:
    """The sections of a recipe by name.

    Raises:
        UserError: unreadable, or with a section or key that no recipe has
    """
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(path.read_text(encoding="utf-8"), str(path))
    except (configparser.Error, OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {error}") from error
    sections = {}
    for name in parser.sections():
        section = Section(path, name, parser[name])
        _check(section)
        sections[name] = section
    return sections


def _check(section: Section) -> None:
    kind = section.name.partition(":")[0]
    problem = choice_problem(f"{section.path}: section", kind, KEYS)
    if problem:
        raise UserError(problem)
    known = KEYS[kind]
    for key in section.values:
        if known is None or key in known or ("*" in known and len(key) in (2, 4)):
            continue
        raise UserError(str(choice_problem(f"{section.path}, [{section.name}]", key, known)))
