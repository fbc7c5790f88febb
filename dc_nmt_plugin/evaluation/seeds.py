"""Groups runs by system: the runs of one system differ in the seed alone."""

from __future__ import annotations

from collections.abc import Mapping


def system_of(label: str, seed: int | None) -> str:
    """Returns a run's label without its seed.

    >>> system_of("transformer_dc-tiny-s3", 3)
    'transformer_dc-tiny'
    """
    return label if seed is None else label.removesuffix(f"-s{seed}")


def by_row(rows: Mapping[str, str], over_seeds: bool) -> dict[str, list[str]]:
    """Returns the rows of a table: row → labels of its runs, in the given order.

    Args:
        rows: label of a run → its row over seeds
        over_seeds: one row for each system with all its seeds, instead of one for each run
    """
    found: dict[str, list[str]] = {}
    for label, row in rows.items():
        found.setdefault(row if over_seeds else label, []).append(label)
    return found
