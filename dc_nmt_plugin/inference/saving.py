"""Writes a checkpoint that was made of others."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..checkpoints.names import OF_TRAINING
from ..errors import UsageError
from ..files import replacing


def save_checkpoint(state: dict[str, Any], path: Path, sources: Sequence[Path]) -> None:
    """Writes a checkpoint, whole or not at all, that was made of others.

    Raises:
        UserError: the file cannot be written, or is one of `sources`, of a training run, or no
            checkpoint
    """
    import torch

    if path.is_file() and any(path.samefile(source) for source in sources):
        raise UsageError(f"--out {path}: is a checkpoint that is read; take another name")
    if path.is_file() and re.fullmatch(rf"{OF_TRAINING}.*\.pt", path.name):
        # without the state of the optimizer, training would begin again
        raise UsageError(f"--out {path}: has the name of a training run's; take another name")
    if path.is_file() and not zipfile.is_zipfile(path):
        raise UsageError(f"--out {path}: exists and is no checkpoint; take another name")
    with replacing(path) as temporary:
        torch.save(state, temporary)
