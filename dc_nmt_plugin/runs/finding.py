"""Finds runs and their translations, and names them in tables."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError, UserError
from .places import located, located_text
from .records import read_record, record_path
from .schema import RECORD, Decoding, Record, TextFile

_WITH_NAME = re.compile(r"(.+):([\w.]+)")


@dataclass(frozen=True)
class Run:
    """A run with one of its translations; `path` is that of its record."""

    path: Path
    record: Record
    decoding: Decoding

    @classmethod
    def read(cls, path: Path) -> Run:
        """Reads a run with its first scored translation, or ``RUN:NAME`` with another one.

        Args:
            path: folder of the run, or a record; behind a colon, the name of ``dc-nmt evaluate
                --as``, after a set other than test and a full stop

        Raises:
            UserError: no record, or no such translation
        """
        place, name = _split_name(path)
        runs = cls.all_of(place)
        named = {run.decoding.way: run for run in runs}
        if name in named:
            return named[name]
        if name:
            names = ", ".join(filter(None, named)) or "none"
            raise UserError(f"{path}: {place} has no scored translation {name!r}; there is {names}")
        if not runs:
            raise UserError(f"{path}: has no scores yet: dc-nmt evaluate translates and scores")
        return runs[0]

    @classmethod
    def all_of(cls, path: Path) -> list[Run]:
        """Reads a run with each of its scored translations."""
        place = record_path(path)
        record = read_record(place)
        return [cls(place, record, each) for each in record.decodings if each.scores]

    @property
    def folder(self) -> Path:
        return self.path.resolve().parent

    @property
    def place(self) -> Path:
        """Returns the folder of the run; for a record of another name, its own path."""
        return self.folder if self.path.name == RECORD else self.path.resolve()

    @property
    def updates(self) -> int | None:
        """Returns the updates of the model that translated."""
        own = self.decoding.updates
        return self.record.training.updates if own is None else own

    def located(self, path: str | None) -> str | None:
        """Returns where a path of the record is now."""
        return located(self.path, self.record, path)

    def text(self, file: TextFile | None) -> str | None:
        """Returns where a text file of the record is now.

        Raises:
            UserError: there is only another text by that name
        """
        return located_text(self.path, self.record, file)


def _split_name(path: Path) -> tuple[Path, str]:
    named = None if path.exists() else _WITH_NAME.fullmatch(str(path))
    return (Path(named[1]), named[2]) if named else (path, "")


def is_run(path: Path) -> bool:
    """Returns True for a run's folder or a record, also with the name of a translation."""
    place, _ = _split_name(path)
    return place.is_dir() or place.suffix == ".json"


def find_runs(paths: Sequence[Path]) -> tuple[list[Run], list[Path]]:
    """Finds the scored translations of runs and folders of runs, and the runs without any.

    Raises:
        UserError: a path is neither, or nothing is finished
    """
    finished: list[Run] = []
    unfinished: list[Path] = []
    for path in paths:
        if not is_run(path):
            raise UserError(f"{path}: no such run or folder of runs")
        if path.is_dir() and not (path / RECORD).is_file():
            folders = sorted(record.parent for record in path.glob(f"*/{RECORD}"))
            runs_of = {folder: Run.all_of(folder) for folder in folders}
            runs = [run for runs in runs_of.values() for run in runs]
            if not runs:
                raise UserError(f"{path}: no finished run in it (FOLDER/{RECORD}, with scores)")
            unfinished += [folder for folder in folders if not runs_of[folder]]
        else:
            first = Run.read(path)
            runs = Run.all_of(path) if path.exists() else [first]
        finished += runs
    return finished, unfinished


def chosen_names(given: Sequence[str] | None, own: Sequence[str]) -> list[str]:
    """Returns the names of ``--names``, or the systems' own names without that flag.

    Raises:
        UsageError: another number of names, or one name twice
    """
    if given and len(given) != len(own):
        raise UsageError(f"--names: {len(given)} names for {len(own)} systems")
    names = list(given or own)
    for name, count in Counter(names).items():
        if count > 1:
            raise UsageError(f"{name}: given twice; every system needs a name of its own (--names)")
    return names


def distinguished(names: Sequence[str], places: Sequence[Path]) -> list[str]:
    """Returns names; equal names of several places become paths from the folder that they share."""
    labels = list(names)
    for name in set(names):
        numbers = [number for number, other in enumerate(names) if other == name]
        if len({places[number] for number in numbers}) > 1:
            shared = os.path.commonpath([places[number].parent for number in numbers])
            for number in numbers:
                labels[number] = places[number].relative_to(shared).as_posix()
    return labels
