"""Finds runs and their translations, and names them in tables."""

from __future__ import annotations

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
    """A run with one of its translations.

    Attributes:
        path: of its record
        record: everything that is known about the run
        decoding: the translation
    """

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
        named = None if path.exists() else _WITH_NAME.fullmatch(str(path))
        place = record_path(Path(named[1]) if named else path)
        record = read_record(place)
        scored = [each for each in record.decodings if each.scores]
        if named:
            found = next((each for each in scored if each.way == named[2]), None)
            if found is None:
                ways = ", ".join(each.way for each in scored if each.way) or "none"
                raise UserError(f"{path}: {named[1]} has no scored translation {named[2]!r}; "
                                f"there is {ways}")  # fmt: skip
            return cls(place, record, found)
        if not scored:
            raise UserError(f"{path}: has no scores yet: dc-nmt evaluate translates and scores")
        return cls(place, record, next((each for each in scored if not each.way), scored[0]))

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
        if self.decoding.updates is not None:
            return self.decoding.updates
        return self.record.training.updates

    def located(self, path: str | None) -> str | None:
        """Returns where a path of the record is now."""
        return located(self.path, self.record, path)

    def text(self, file: TextFile | None) -> str | None:
        """Returns where a text file of the record is now.

        Raises:
            UserError: there is only another text by that name
        """
        return located_text(self.path, self.record, file)


def is_run(path: Path) -> bool:
    """Returns True for a run's folder or a record, also with the name of a translation."""
    named = None if path.exists() else _WITH_NAME.fullmatch(str(path))
    place = Path(named[1]) if named else path
    return place.is_dir() or place.suffix == ".json"


def find_runs(paths: Sequence[Path]) -> tuple[list[Run], list[Path]]:
    """Finds the scored translations of runs and folders of runs, and the runs without any.

    Raises:
        UserError: a path is neither, or nothing is finished
    """
    found: list[Run] = []
    unfinished: list[Path] = []
    for path in paths:
        if not path.is_dir():
            if not is_run(path):
                raise UserError(f"{path}: no such run or folder of runs")
            found += Run.all_of(path) if path.is_file() else [Run.read(path)]
            continue
        if (path / RECORD).is_file():
            runs = Run.all_of(path)
            if not runs:
                raise UserError(f"{path}: has no scores yet: dc-nmt evaluate translates and scores")
            found += runs
            continue
        below = sorted(each for each in path.iterdir() if each.is_dir())
        inside = [each for each in below if (each / RECORD).is_file()]
        runs_of = {folder: Run.all_of(folder) for folder in inside}
        if not any(runs_of.values()):
            raise UserError(f"{path}: no finished run in it (FOLDER/{RECORD}, with scores)")
        for folder, runs in runs_of.items():
            found += runs
            if not runs:
                unfinished.append(folder)
    return found, unfinished


def chosen_names(given: Sequence[str] | None, own: Sequence[str]) -> list[str]:
    """Returns the names of ``--names``, or the systems' own names without that flag.

    Raises:
        UsageError: another number of names, or one name twice
    """
    if given and len(given) != len(own):
        raise UsageError(f"--names: {len(given)} names for {len(own)} systems")
    found = list(given or own)
    twice = next((name for name, count in Counter(found).items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"{twice}: given twice; every system needs a name of its own (--names)")
    return found


def distinguished(names: Sequence[str], places: Sequence[Path]) -> list[str]:
    """Returns names; equal ones of several places become as many folders as make them different."""
    found = list(names)
    depth = 1
    while _confused(found, places) and depth < 20:
        counts = Counter(dict(zip(places, found, strict=True)).values())
        found = [
            "/".join(place.parts[-depth:]) if counts[name] > 1 else name
            for name, place in zip(found, places, strict=True)
        ]
        depth += 1
    return found


def _confused(names: Sequence[str], places: Sequence[Path]) -> bool:
    return len({*zip(names, places, strict=True)}) > len(set(names))
