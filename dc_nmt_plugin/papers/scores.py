"""The scores that the papers print: ``scores.yaml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

from ..table import markdown_table


@cache
def _scores() -> dict[str, dict[str, str]]:
    text = Path(__file__).with_name("scores.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def published_scores(task: str) -> dict[str, tuple[float, str]]:
    """Architecture (and flags) → (published score, where it is printed).

    Args:
        task: such as ``iwslt14_es_en``, languages in the order of the direction
    """
    return {key: (float(score), place) for key, score, place in _entries(task)}


def published_tables(tasks: list[str]) -> str:
    """Markdown tables of a task's directions; nothing where nothing is published."""
    blocks = []
    for task in tasks:
        # as it is printed, with its number of decimals
        rows = [(f"`{key}`", score, place) for key, score, place in _entries(task)]
        if rows:
            title = f"`{task}`:\n\n" if len(tasks) > 1 else ""
            blocks.append(title + markdown_table(("`--arch` and flags", "BLEU", "where"), rows))
    return "\n\n".join(blocks)


def _entries(task: str) -> list[tuple[str, str, str]]:
    found = []
    for key, text in _scores().get(task, {}).items():
        score, _, place = text.partition("|")
        found.append((key, score.strip(), place.strip()))
    return found
