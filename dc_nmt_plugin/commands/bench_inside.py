"""``dc-nmt bench --count`` and ``--profile``: the operations of a training step or beam search."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any

from ..table import format_table
from .bench_names import Names, short_names
from .parser import print_report


def look_inside(
    args: argparse.Namespace, subjects: Sequence[str], task: Any, setting: Any, sample: Any
) -> dict[str, int]:
    """Prints the table, or its rows as JSON; after an interrupt, of the finished subjects.

    Returns:
        mode → number of subjects that are finished

    Raises:
        KeyboardInterrupt: none is finished
    """
    from ..bench.apart import apart

    look = _count if args.count else _profile
    rows: list[dict[str, Any]] = []
    with suppress(KeyboardInterrupt):
        for mode, name in product(args.mode, subjects):
            make = partial(_looker, look, mode, name, args.arch[0], task, setting)
            with apart(make, args.device) as found:  # memory set up as for timing
                rows.append({"mode": mode, "name": name, **found(sample)})
    if not rows:
        raise KeyboardInterrupt
    names = short_names(args.arch, [args.against])
    print_report(rows, args.json, lambda rows: _as_text(rows, names))
    return Counter(row["mode"] for row in rows)


def _looker(
    look: Callable[..., dict[str, Any]], mode: str, name: str, like: str, task: Any, setting: Any
) -> Callable[[Any], dict[str, Any]]:
    from ..bench.comparison import make_step

    step = make_step(mode, name, like, task, setting)
    return lambda sample: look(step, sample, setting.device)


def _count(step: Any, sample: Any, device: str) -> dict[str, Any]:
    from ..bench.counting import count

    counter = count(step, sample)
    return {
        "operations": counter.operations.total(),
        "synchronisations": counter.synchronisations.total(),
    }


def _profile(step: Any, sample: Any, device: str) -> dict[str, Any]:
    from ..bench.profiling import floor, time_by_kind

    seconds = time_by_kind(step, sample, device)
    alone = floor(step, sample, device)
    whole = sum(seconds.values())
    return {
        "whole, ms": round(1000 * whole, 1),
        **{kind: f"{value / whole:.1%}" for kind, value in seconds.items()},
        "products alone, ms": round(1000 * alone.products, 1),
        **({"by oneDNN, ms": round(1000 * alone.onednn, 1)} if alone.onednn else {}),
        "whole / products": round(whole / alone.products, 2),
    }


def _as_text(rows: list[dict[str, Any]], names: Names) -> str:
    """Returns one table for each mode, with a column for each subject."""
    tables = names.lines()
    for mode in dict.fromkeys(row["mode"] for row in rows):
        columns = [row for row in rows if row["mode"] == mode]
        header = [mode, *(names(column["name"]) for column in columns)]
        entries = [key for key in columns[0] if key not in ("mode", "name")]
        tables.append(
            format_table(header, [[key, *(_cell(c[key]) for c in columns)] for key in entries])
        )
    return "\n\n".join(tables)


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:,}"
