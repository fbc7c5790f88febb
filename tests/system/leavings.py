"""What a recipe leaves in its folder, without the facts that pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from dc_nmt_plugin.runs.record import CURVE

# of run.json: what the clock and the place say, and how often the run was started
PASSING_FACTS = {"written_in", "stamp", "seconds", "tokens_per_second", "sentences_per_second"}
PASSING_FACTS |= {"starts", "translated", "scored"}
PASSING = (".log", ".stamp", ".lock")


def plain(value: Any) -> Any:
    """The same with the bytes of tensors, which can be compared."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), value.shape, value.numpy().tobytes()
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def lasting(value: Any) -> Any:
    """The same without the facts of a record that pass."""
    if isinstance(value, dict):
        return {k: lasting(each) for k, each in value.items() if k not in PASSING_FACTS}
    return [lasting(each) for each in value] if isinstance(value, list) else value


def content(path: Path) -> Any:
    """What a file says, without the time and the folder in which it was made."""
    if path.suffix == ".pt":  # what the continued training and the translation depend on
        state = torch.load(path, weights_only=True)
        return plain([state[name] for name in ("model", "last_optimizer_state") if name in state])
    if path.name in ("run.json", "manifest.json") or path.name.endswith("read.json"):
        return lasting(json.loads(path.read_text("utf-8")))
    if path.name.startswith("generate-"):
        lines = path.read_text("utf-8").splitlines()
        return sorted(line for line in lines if line[:2] in ("S-", "T-", "H-", "D-", "P-"))
    return path.read_bytes()


def names(folder: Path) -> set[str]:
    """The names of all files, logs, stamps and locks too."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def results(folder: Path) -> dict[str, Path]:
    """Everything that a recipe leaves, the learning curve too, but logs, stamps and locks."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    lasting = (p for p in files if p.name == CURVE or not p.name.endswith(PASSING))
    return {str(path.relative_to(folder)): path for path in lasting}


def differences(folder: Path, expected: Path) -> list[str]:
    """Names of files that only one of them has, or that say something else."""
    ours, others = results(folder), results(expected)
    both = ours.keys() & others.keys()
    other = {name for name in both if content(ours[name]) != content(others[name])}
    return sorted((ours.keys() ^ others.keys()) | other)
