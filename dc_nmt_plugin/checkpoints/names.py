"""Names of the checkpoints in a save folder of fairseq."""

from __future__ import annotations

import re
from pathlib import Path

EPOCH = re.compile(r"checkpoint(\d+)\.pt")
UPDATE = re.compile(r"checkpoint_\d+_(\d+)\.pt")
BEST = re.compile(r"checkpoint\.best_.+?_(-?[\d.]+)\.pt")


def numbered(folder: Path, pattern: re.Pattern[str]) -> list[tuple[float, Path]]:
    """Returns the checkpoints of one kind with the number in their name, ascending."""
    matches = [(pattern.fullmatch(path.name), path) for path in folder.iterdir()]
    return sorted((float(match[1]), path) for match, path in matches if match)
