"""Bars for long loops: drawn over on a terminal, a state every ten seconds elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm


def bar(items: Iterable[Any] | None = None, **options: Any) -> tqdm[Any]:
    """A bar of tqdm on standard error; ``options`` are tqdm's."""
    interval = 0.2 if sys.stderr.isatty() else 10.0
    return tqdm(items, mininterval=interval, delay=interval, leave=False, **options)
