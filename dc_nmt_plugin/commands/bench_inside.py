"""``dc-nmt bench --count`` and ``--profile``: what one training step or beam search consists of."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ..table import format_table


def look_inside(args: argparse.Namespace, task: Any, setting: Any, sample: Any) -> None:
    """Print the table, or as JSON its rows."""
    from ..bench.comparison import STEPS

    rows = []
    for mode in args.mode:
        for name in dict.fromkeys([args.against, *args.arch]):
            step = STEPS[mode](name, args.arch[0], task, setting)
            look = _count if args.count else _profile
            rows.append({"mode": mode, "name": name, **look(step, sample, args.device)})
    print(json.dumps(rows, indent=2) if args.json else _as_text(rows))


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


def _as_text(rows: list[dict[str, Any]]) -> str:
    """A table a mode, a column a subject."""
    tables = []
    for mode in dict.fromkeys(row["mode"] for row in rows):
        columns = [row for row in rows if row["mode"] == mode]
        header = [mode, *(column["name"] for column in columns)]
        entries = [key for key in columns[0] if key not in ("mode", "name")]
        tables.append(
            format_table(header, [[key, *(_cell(c[key]) for c in columns)] for key in entries])
        )
    return "\n\n".join(tables)


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:,}"
