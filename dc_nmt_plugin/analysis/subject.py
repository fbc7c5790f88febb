"""Loads trained models for analyses: the folder of a run, or a checkpoint and its data."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..checkpoints.loading import task_settings
from ..checkpoints.names import CHECKPOINTS, of_run
from ..errors import UsageError, UserError
from ..flags import flag_name, flag_value
from ..modules.core.recording import Recordable
from ..runs.finding import chosen_names, distinguished
from ..runs.places import is_its_text, located
from ..runs.records import record_of
from ..runs.schema import RECORD
from .subset_translation import SubsetTranslation

STOCK_RECORDS_NOTHING = (
    "is fairseq's own model, which does not record what it computes; train transformer_standard "
    "with the same flags."
)
_REFUSED = ("--path", "--gen-subset", "--task", "--user-dir", "--decode-with", "--no-aux-fusion")


@dataclass(frozen=True)
class Place:
    """Holds the paths of the model and the text of a run.

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


class Subject:
    """A loaded model and a subset of its data.

    Args:
        place: where it is
        subset: such as ``test``
        sentences: number of sentences, drawn at random; None for all
        flags: further flags of ``fairseq-generate``

    Attributes:
        label: name in tables and figures
        model: in evaluation mode
        task: fairseq's
        translation: the subset, in batches, and the model's own translations of it

    Raises:
        UserError: the model cannot be loaded or is no translation model, the subset is missing
            or empty, a flag that this command sets itself
    """

    def __init__(
        self,
        place: Place,
        subset: str,
        sentences: int | None,
        flags: Sequence[str] = (),
    ) -> None:
        for flag in _REFUSED:
            if flag_value(flags, flag) is not None or flag in flags:
                raise UsageError(f"{flag}: this command sets it by itself.")
        if place.task.get("_name") == "language_modeling":
            raise UserError(f"{place.label}: is a language model; only translation models here.")
        self.place = place
        self.label = place.label
        self.subset = subset
        self.translation = SubsetTranslation([*_flags(place, subset), *flags], sentences)
        if len(self.translation.models) != 1:
            raise UserError(f"{place.checkpoint}: is an ensemble; give one model at a time.")
        self.model: Any = self.translation.models[0]
        self.task: Any = self.translation.task
        self.padding_idx: int = self.task.source_dictionary.pad()

    @property
    def source_lang(self) -> str:
        return str(self.task.cfg.source_lang)

    @property
    def target_lang(self) -> str:
        return str(self.task.cfg.target_lang)

    @property
    def source_layers(self) -> list[int]:
        """Returns the encoder layers that the main decoder reads; empty for recurrent models."""
        return list(getattr(self.model.encoder, "read_layers", []))

    @property
    def records(self) -> bool:
        """Returns True when the model records what it computes; fairseq's own does not."""
        return any(isinstance(module, Recordable) for module in self.model.modules())

    def check_targets(self) -> None:
        """
        Raises:
            UserError: the subset has no target side
        """
        if self.task.dataset(self.subset).tgt is None:
            raise UsageError(f"--subset {self.subset}: has no target side in {self.place.data}.")

    def source_pieces(self, number: int) -> list[str]:
        """Returns the pieces of a source sentence of the subset, without the end token."""
        return self.pieces(self.task.dataset(self.subset).src[number], self.task.source_dictionary)

    def target_pieces(self, number: int) -> list[str]:
        """Returns the pieces of a target sentence of the subset, without the end token."""
        return self.pieces(self.task.dataset(self.subset).tgt[number], self.task.target_dictionary)

    def pieces(self, tokens: Any, dictionary: Any) -> list[str]:
        """Returns the symbols of token numbers, without padding and end tokens."""
        unwanted = {dictionary.pad(), dictionary.eos()}
        return [dictionary[int(token)] for token in tokens if int(token) not in unwanted]


def find(runs: Sequence[Path], data: Path | None, names: Sequence[str] | None) -> list[Place]:
    """Finds checkpoint and data of every run.

    Args:
        runs: run folders or checkpoints
        data: folder made by fairseq-preprocess; None: the one each run was trained on
        names: labels; None: the runs' own

    Raises:
        UserError: no checkpoint or data there, another number of names, a name given twice
    """
    if data is not None and not _is_data(data):
        raise UsageError(f"--data {data}: has no dictionaries; fairseq-preprocess makes them.")
    checkpoints = [_checkpoint(path) for path in runs]
    places = []
    for label, path, checkpoint in zip(labels(runs, names), runs, checkpoints, strict=True):
        folder = path if path.is_dir() else _run_of(checkpoint)
        task = task_settings(str(checkpoint))
        places.append(Place(label, folder, checkpoint, data or _data(folder, task, path), task))
    return places


def _checkpoint(path: Path) -> Path:
    if path.is_file():
        return path
    if not path.is_dir():
        raise UserError(f"{path}: no such run folder or checkpoint.")
    found = of_run(path)
    if found is None:
        runs = sorted(str(folder.parent) for folder in path.glob("*/checkpoints"))
        hint = f" Its runs are {', '.join(runs)}." if runs else ""
        if not runs and (path / "recipe.yaml").is_file():
            hint = f" dc-nmt run {shlex.quote(str(path))} trains a model there."
        raise UserError(f"{path}: has no checkpoint ({', '.join(CHECKPOINTS)}).{hint}")
    return found


def _run_of(checkpoint: Path) -> Path:
    folder = checkpoint.parent
    return folder.parent if re.fullmatch(r"checkpoints|average(-\d+)?", folder.name) else folder


def labels(runs: Sequence[Path], names: Sequence[str] | None) -> list[str]:
    """Returns the names of runs: the given ones, or their own; folders distinguish equal ones.

    Raises:
        UserError: another number of names, or one name twice
    """
    places = [_run_of(run.resolve()) if run.is_file() else run.resolve() for run in runs]
    records = [record_of(place) if place.is_dir() else None for place in places]
    own = [r.name if r else place.name for r, place in zip(records, places, strict=True)]
    own = distinguished(own, places)
    # several checkpoints of one folder
    return chosen_names(names, own if len(set(own)) == len(own) else list(map(str, runs)))


def check_index(index: int, subject: Subject) -> None:
    """
    Raises:
        UserError: the subset has no sentence of that number, from 1
    """
    size = subject.translation.size
    if not 1 <= index <= size:
        raise UsageError(f"--index {index}: is not from 1 to {subject.subset}'s {size} sentences.")


def _data(folder: Path, task: dict[str, Any], given: Path) -> Path:
    """Returns the data folder of a run: of its record, or as its checkpoint says."""
    record = record_of(folder)
    named: list[Path] = []
    others: list[Path] = []
    if record and record.data.folder:
        named.append(Path(located(folder / RECORD, record, record.data.folder) or ""))
    if task.get("data"):
        named.append(Path(str(task["data"]).split(":")[0]))
    for path in named:
        # relative to where training was started; recipes have it beside the runs or in data
        # there, also in a folder that was moved; what is here may be another run's
        above = folder.resolve().parents
        near = (above[0] / path.name, above[0] / "data" / path.name)
        for place in (*(parent / path for parent in above), *near, path):
            if not _is_data(place):
                continue
            if record is None or is_its_text(record, place):
                return place
            others.append(place)
    if others:
        raise UserError(
            f"{folder} was trained when {others[0]} had other text: prepare that text again, or "
            "name the folder that has it with --data."
        )
    tried = f" ({named[0]} has no dictionaries)" if named else ""
    raise UserError(f"{given}: where is its data?{tried} Name the folder with --data.")


def _is_data(folder: Path) -> bool:
    return any(folder.glob("dict.*.txt"))


def _flags(place: Place, subset: str) -> list[str]:
    """Returns the command line of ``fairseq-generate`` for a run."""
    # this task loads every translation model of the package, and has every hook for decoding
    flags = [str(place.data), "--path", str(place.checkpoint), "--gen-subset", subset]
    flags += ["--task", "translation_dc_nmt"]
    for side in ("source_lang", "target_lang"):
        if place.task.get(side):
            flags += [flag_name(side), place.task[side]]
    return flags
