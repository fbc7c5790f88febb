"""Finds the checkpoint and the data of trained runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...checkpoints.loading import load_checkpoint, saved_settings
from ...checkpoints.names import CHECKPOINTS, of_run
from ...errors import UserError, did_you_mean
from ...runs.data import is_its_text
from ...runs.record import RECORD, record_of
from ..finding import located
from ..table import chosen_names, distinguished


@dataclass(frozen=True)
class TrainedRun:
    """Holds the paths of a run's model and data."""

    label: str  # name in tables and figures
    folder: Path
    checkpoint: Path
    data: Path  # made by fairseq-preprocess
    task: dict[str, Any]  # fairseq's settings of the checkpoint's task


def find_runs(
    runs: Sequence[Path], data: Path | None = None, names: Sequence[str] | None = None
) -> list[TrainedRun]:
    """Finds checkpoint and data of every run.

    Args:
        runs: run folders or checkpoints
        data: folder made by fairseq-preprocess; None: the one each run was trained on
        names: labels; None: the runs' own

    Raises:
        UserError: no checkpoint or data there, another number of names, a name given twice
    """
    checkpoints = [_checkpoint(path) for path in runs]
    trained_runs = []
    for label, path, checkpoint in zip(run_names(runs, names), runs, checkpoints, strict=True):
        folder = path if path.is_dir() else _run_folder(checkpoint)
        task = saved_settings(load_checkpoint(str(checkpoint), mmap=True), "task")
        record = record_of(folder)
        if record and not (task.get("source_lang") and task.get("target_lang")):
            # fairseq reads them from names of files, which a packed run has not
            task |= {"source_lang": record.data.source, "target_lang": record.data.target}
        folder_of_data = data or _data_of(folder, task, path)
        trained_runs.append(TrainedRun(label, folder, checkpoint, folder_of_data, task))
    return trained_runs


def run_names(runs: Sequence[Path], names: Sequence[str] | None) -> list[str]:
    """Returns the names of runs: the given ones, or their own; folders distinguish equal ones.

    Raises:
        UserError: another number of names, or one name twice
    """
    folders = [_run_folder(run.resolve()) if run.is_file() else run.resolve() for run in runs]
    recorded = []
    for folder in folders:
        record = record_of(folder) if folder.is_dir() else None
        recorded.append(record.name if record else folder.name)
    recorded = distinguished(recorded, folders)
    if len(set(recorded)) < len(recorded):  # several checkpoints of one folder
        recorded = [str(run) for run in runs]
    return chosen_names(names, recorded)


def _checkpoint(path: Path) -> Path:
    if path.is_file():
        return path
    if not path.is_dir():
        runs = [record.parent.name for record in path.parent.glob(f"*/{RECORD}")]
        hint = did_you_mean(path.name, runs)
        raise UserError(f"{path}: no such run folder or checkpoint.{hint}")
    checkpoint = of_run(path)
    if checkpoint is None:
        runs = sorted(str(folder) for folder in path.iterdir() if of_run(folder))
        hint = f" Its runs are {', '.join(runs)}." if runs else ""
        if (path / RECORD).is_file():
            hint = " Where it was trained, 'dc-nmt export RUN --run DIR' packs it with its model."
        raise UserError(f"{path}: has no checkpoint ({', '.join(CHECKPOINTS)}).{hint}")
    return checkpoint


def _run_folder(checkpoint: Path) -> Path:
    folder = checkpoint.parent
    if (folder / RECORD).is_file():
        return folder
    return folder.parent if re.fullmatch(r"checkpoints|average(-\d+)?", folder.name) else folder


def _data_of(folder: Path, task: dict[str, Any], path: Path) -> Path:
    """Returns the data folder of a run: of its record, or as its checkpoint says."""
    record = record_of(folder)
    named = []
    if record and record.data.folder:
        named.append(Path(located(folder / RECORD, record, record.data.folder) or ""))
    if task.get("data"):
        named.append(Path(str(task["data"]).split(":")[0]))
    other_text = None
    for candidate in _candidates(folder, named):
        if record is None or is_its_text(record, candidate):
            return candidate
        other_text = other_text or candidate
    if other_text:
        raise UserError(
            f"{folder} was trained when {other_text} had other text: prepare that text again, or "
            "name the folder that has it with --data."
        )
    tried = f" ({named[0]} has none)" if named else ""
    raise UserError(
        f"{path}: the dictionaries of its training are missing{tried}: name the folder of "
        "fairseq-preprocess with --data, or take the run to another place with 'dc-nmt export RUN "
        "--run DIR', where it was trained."
    )


def _candidates(folder: Path, named: Sequence[Path]) -> Iterator[Path]:
    """Yields the folders with dictionaries that may be the data of a run in `folder`."""
    # A path is relative to where training started. Recipes have the data beside the runs
    # or in data/ there, also in a folder that was moved.
    above = folder.resolve().parents
    for path in named:
        near = (above[0] / path.name, above[0] / "data" / path.name)
        for candidate in (*(parent / path for parent in above), *near, path):
            if _has_dictionaries(candidate):
                yield candidate


def _has_dictionaries(folder: Path) -> bool:
    return any(folder.glob("dict.*.txt"))
