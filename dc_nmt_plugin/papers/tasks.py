"""The published tasks, and the scores that their papers print."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import UserError
from .ini import read_ini


def examples_folder() -> Path:
    """The checkout's ``examples``; ``DC_NMT_EXAMPLES`` names another folder.

    Raises:
        UserError: there is none
    """
    folder = Path(os.environ.get("DC_NMT_EXAMPLES") or Path(__file__).parents[2] / "examples")
    if not folder.is_dir():
        raise UserError(
            f"{folder}: the recipes are not here; they are in the folder examples of the "
            "project's checkout, which DC_NMT_EXAMPLES may name"
        )
    return folder


def tasks(folder: Path | None = None) -> dict[str, tuple[Path, str]]:
    """Task, in every direction that is published → (its ``recipe.ini``, direction)."""
    found = {}
    for path in sorted((folder or examples_folder()).glob("*/recipe.ini")):
        section = read_ini(path)["task"]
        pair = section.text("pair")
        for direction in section.words("directions") or [pair]:
            name = directed(path.parent.name, (pair[:2], pair[3:]), direction)
            found[name] = (path, direction)
    return found


def directed(folder: str, pair: tuple[str, str], direction: str) -> str:
    """A task's name in a direction: ``iwslt14_es_en`` in en-es is ``iwslt14_en_es``."""
    there = f"_{pair[0]}_{pair[1]}"
    return folder.replace(there, "_" + direction.replace("-", "_"), 1)


def published_scores(path: Path, direction: str) -> dict[str, tuple[float, str]]:
    """Architecture (and flags) → (published score, where it is printed), of one direction.

    Args:
        path: a ``recipe.ini``
        direction: such as ``es-en``
    """
    section = read_ini(path).get(f"published:{direction}")
    result = {}
    for key, text in section.values.items() if section else ():
        value, _, where = text.partition("|")
        result[key.strip()] = (float(value), where.strip())
    return result
