"""The published numbers of all five documents, by name."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ..errors import UsageError, check_choices, did_you_mean
from .document import Derived, Document
from .reader import read_file
from .schema import TASKS, Item

DATA = Path(__file__).parent / "data"
DOCUMENTS = ("dual-context", "context-aware", "cross-aggregation", "thesis", "residual-decoder")


def read_register() -> tuple[Document, ...]:
    """Returns all five documents."""
    return tuple(read_document(name) for name in DOCUMENTS)


@cache
def read_document(name: str) -> Document:
    """Returns a document by its name, such as ``thesis``.

    Raises:
        UserError: no such document
    """
    check_choices("document", [name], DOCUMENTS)
    return read_file(DATA / f"{name}.yaml")


def task_named(name: str) -> tuple[str, str] | None:
    """Returns the recipe's folder and the direction of a task; None for an unknown task."""
    for task, directions in TASKS.items():
        stem = task.removesuffix(directions[0].replace("-", "_"))
        for direction in directions:
            if name == task or name == stem + direction.replace("-", "_"):
                own = directions[0] if name == task else direction
                return task, own
    return None


def derived_of(item: Item) -> list[Derived]:
    """Returns the numbers of the text that follow from cells of an item."""
    found = read_document(item.document).derived
    return [each for each in found if each.cells[0].item == item.name]


def find_item(name: str) -> Item:
    """Returns an item by ``DOCUMENT, ITEM``, such as ``thesis, Table 3.4``.

    Raises:
        UserError: no such item, with the nearest
    """
    document, _, item = (part.strip() for part in name.partition(","))
    items = {found.name: found for found in read_document(document).items}
    full = re.sub(r"^(?:fig(?:ure|\.)?)\s*(?=\d)", "Figure ", item, flags=re.IGNORECASE)
    full = re.sub(r"^(?:tab(?:le|\.)?)\s*(?=\d)", "Table ", full, flags=re.IGNORECASE)
    if full not in items:
        raise UsageError(f"{document} has no {full!r}.{did_you_mean(full, items, 3)}")
    return items[full]
