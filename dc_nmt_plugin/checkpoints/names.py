"""Names of the checkpoints in a save folder of fairseq."""

from __future__ import annotations

import re
from pathlib import Path

BEST, LAST = "checkpoint_best.pt", "checkpoint_last.pt"
EPOCH = re.compile(r"checkpoint(\d+)\.pt")
UPDATE = re.compile(r"checkpoint_\d+_(\d+)\.pt")
# of fairseq-train, without .pt: checkpoint3, checkpoint_3_400, checkpoint.best_loss_2.10
OF_TRAINING = r"checkpoint(?:\d+|_\d+_\d+|_best|_last|\.best_\w+_[\d.]+)"
MEAN = "average/checkpoint.pt"  # in the folder of a recipe's run
# in the folder of a run, best first
CHECKPOINTS = (
    MEAN,
    "checkpoints/checkpoint_best.pt",
    "checkpoints/checkpoint_last.pt",
    "checkpoint_best.pt",
    "checkpoint_last.pt",
)


def of_run(folder: Path) -> Path | None:
    """Returns the checkpoint that stands for a run; None where there is none."""
    return next((folder / name for name in CHECKPOINTS if (folder / name).is_file()), None)


def numbered(folder: Path, pattern: re.Pattern[str]) -> list[tuple[float, Path]]:
    """Returns the checkpoints of one kind with the number in their name, ascending."""
    matches = [(pattern.fullmatch(path.name), path) for path in folder.iterdir()]
    return sorted((float(match[1]), path) for match, path in matches if match)
