"""A recipe's published numbers as tables for its README."""

from __future__ import annotations

from pathlib import Path

from ..report.formats import markdown_table
from .recipe import Recipe


def published_tables(path: Path) -> str:
    """Markdown tables of all directions of a ``recipe.ini``; nothing where nothing is published."""
    first = Recipe(path)
    blocks = []
    for direction in first.directions:
        recipe = Recipe(path, direction)
        section = recipe.sections.get(f"published:{direction}")
        # as it is printed, with its number of decimals
        entries = section.values.items() if section else ()
        rows = [(f"`{key}`", *map(str.strip, text.split("|"))) for key, text in entries]
        if rows:
            title = f"`{recipe.name}`:\n\n" if len(first.directions) > 1 else ""
            blocks.append(title + markdown_table(("`--arch` and flags", "BLEU", "where"), rows))
    return "\n\n".join(blocks)
