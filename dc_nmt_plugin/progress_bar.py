"""Progress bars for long loops; outside a terminal, a line every ten seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm


def bar(items: Iterable[Any] | None = None, **options: Any) -> tqdm[Any]:
    """Returns a bar of tqdm on standard error; ``options`` are tqdm's."""
    interval = 0.2 if sys.stderr.isatty() else 10.0
    tqdm.monitor_interval = 0  # its thread would be lost in forks; miniters=1 does without
    return tqdm(items, mininterval=interval, delay=interval, miniters=1, leave=False, **options)
