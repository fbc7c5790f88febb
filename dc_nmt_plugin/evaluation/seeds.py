"""Groups the labels of runs by system: one system has several seeds."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SEED_IN_A_LABEL = re.compile(r"-s(\d+)(?=,|$)")


def system_of(label: str) -> str:
    """Returns a run's label without its seed.

    >>> system_of("transformer_dc-tiny-s3, decoder aux:1")
    'transformer_dc-tiny, decoder aux:1'
    """
    return _SEED_IN_A_LABEL.sub("", label)


def seed_of(label: str) -> str:
    """Returns the seed in a run's label; "" if it has none.

    >>> seed_of("transformer_dc-tiny-s3, decoder aux:1")
    '3'
    """
    found = _SEED_IN_A_LABEL.search(label)
    return found[1] if found else ""


def by_row(labels: Iterable[str], over_seeds: bool) -> dict[str, list[str]]:
    """Returns the rows of a table: row → labels of its runs, in the given order.

    Args:
        labels: of runs
        over_seeds: one row for each system with all its seeds, instead of one for each run
    """
    rows: dict[str, list[str]] = {}
    for label in labels:
        rows.setdefault(system_of(label) if over_seeds else label, []).append(label)
    return rows
