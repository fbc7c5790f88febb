"""A recipe's published numbers as tables for its README."""

from __future__ import annotations

from pathlib import Path

from ..table import markdown_table
from .ini import read_ini
from .tasks import directed


def published_tables(path: Path) -> str:
    """Markdown tables of all directions of a ``recipe.ini``; nothing where nothing is published."""
    sections = read_ini(path)
    task = sections["task"]
    pair = task.text("pair")
    directions = task.words("directions") or [pair]
    blocks = []
    for direction in directions:
        section = sections.get(f"published:{direction}")
        # as it is printed, with its number of decimals
        entries = section.values.items() if section else ()
        rows = [(f"`{key}`", *map(str.strip, text.split("|"))) for key, text in entries]
        if rows:
            name = directed(path.parent.name, (pair[:2], pair[3:]), direction)
            title = f"`{name}`:\n\n" if len(directions) > 1 else ""
            blocks.append(title + markdown_table(("`--arch` and flags", "BLEU", "where"), rows))
    return "\n\n".join(blocks)
