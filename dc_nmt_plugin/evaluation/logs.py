"""Statistics of training in logs of ``fairseq-train --log-format json``, and in ``curve.log``."""

from __future__ import annotations

import json
import re
from typing import Any

STATISTICS = re.compile(r"\| (train_inner|train|valid) \| (\{.*\})$")


def parse_statistics(line: str) -> tuple[str, dict[str, Any]] | None:
    """Returns (kind, values) of a statistics line; kind is train_inner, train or valid."""
    match = STATISTICS.search(line)
    if not match:
        return None
    try:
        values = json.loads(match[2])
    except json.JSONDecodeError:
        return None  # an incomplete line, from a killed run
    return match[1], values
