"""Finds the checkpoint and the data of trained runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..checkpoints.loading import load_checkpoint, saved_settings
from ..checkpoints.names import CHECKPOINTS, of_run
from ..errors import UsageError, UserError
from ..runs.finding import chosen_names, distinguished, is_its_text, located
from ..runs.record import RECORD, record_of


@dataclass(frozen=True)
class TrainedRun:
    """Holds the paths of a run's model and data.

    Attributes:
        label: name in tables and figures
        folder: of the run
        checkpoint: the model
        data: made by fairseq-preprocess
        task: fairseq's settings of the checkpoint's task
    """

    label: str
    folder: Path
    checkpoint: Path
    data: Path
    task: dict[str, Any]


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
    if data is not None and not _has_dictionaries(data):
        raise UsageError(f"--data {data}: has no dictionaries; fairseq-preprocess makes them.")
    checkpoints = [_checkpoint(path) for path in runs]
    trained_runs = []
    for label, path, checkpoint in zip(labels(runs, names), runs, checkpoints, strict=True):
        folder = path if path.is_dir() else _run_of(checkpoint)
        task = saved_settings(load_checkpoint(str(checkpoint), mmap=True), "task")
        record = record_of(folder)
        if record and not (task.get("source_lang") and task.get("target_lang")):
            # fairseq reads them from names of files, which a packed run has not
            task |= {"source_lang": record.data.source, "target_lang": record.data.target}
        own_data = data or _data(folder, task, path)
        trained_runs.append(TrainedRun(label, folder, checkpoint, own_data, task))
    return trained_runs


def labels(runs: Sequence[Path], names: Sequence[str] | None) -> list[str]:
    """Returns the names of runs: the given ones, or their own; folders distinguish equal ones.

    Raises:
        UserError: another number of names, or one name twice
    """
    places = [_run_of(run.resolve()) if run.is_file() else run.resolve() for run in runs]
    own = []
    for place in places:
        record = record_of(place) if place.is_dir() else None
        own.append(record.name if record else place.name)
    own = distinguished(own, places)
    if len(set(own)) < len(own):  # several checkpoints of one folder
        own = list(map(str, runs))
    return chosen_names(names, own)


def _checkpoint(path: Path) -> Path:
    if path.is_file():
        return path
    if not path.is_dir():
        raise UserError(f"{path}: no such run folder or checkpoint.")
    checkpoint = of_run(path)
    if checkpoint is None:
        runs = sorted(str(folder) for folder in path.iterdir() if of_run(folder))
        hint = f" Its runs are {', '.join(runs)}." if runs else ""
        if (path / RECORD).is_file():
            hint = " Where it was trained, 'dc-nmt export RUN --run DIR' packs it with its model."
        raise UserError(f"{path}: has no checkpoint ({', '.join(CHECKPOINTS)}).{hint}")
    return checkpoint


def _run_of(checkpoint: Path) -> Path:
    folder = checkpoint.parent
    if (folder / RECORD).is_file():
        return folder
    return folder.parent if re.fullmatch(r"checkpoints|average(-\d+)?", folder.name) else folder


def _data(folder: Path, task: dict[str, Any], path: Path) -> Path:
    """Returns the data folder of a run: of its record, or as its checkpoint says."""
    record = record_of(folder)
    named = []
    if record and record.data.folder:
        named.append(Path(located(folder / RECORD, record, record.data.folder) or ""))
    if task.get("data"):
        named.append(Path(str(task["data"]).split(":")[0]))
    others = []
    for path in named:
        # The path is relative to where training started. Recipes have the data beside the runs
        # or in data/ there, also in a folder that was moved.
        above = folder.resolve().parents
        near = (above[0] / path.name, above[0] / "data" / path.name)
        for place in (*(parent / path for parent in above), *near, path):
            if not _has_dictionaries(place):
                continue
            if record is None or is_its_text(record, place):
                return place
            others.append(place)  # text of another run
    if others:
        raise UserError(
            f"{folder} was trained when {others[0]} had other text: prepare that text again, or "
            "name the folder that has it with --data."
        )
    tried = f" ({named[0]} has none)" if named else ""
    raise UserError(
        f"{path}: the dictionaries of its training are missing{tried}: name the folder of "
        "fairseq-preprocess with --data, or take the run to another place with 'dc-nmt export RUN "
        "--run DIR', where it was trained."
    )


def _has_dictionaries(folder: Path) -> bool:
    return any(folder.glob("dict.*.txt"))
