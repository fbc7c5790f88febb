"""Keeps finished runs without their text, small enough for a repository."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import UsageError
from ..files import write_lines
from ..runs.finding import Run
from ..runs.records import record_of, with_decoding, write_record
from ..runs.schema import RECORD, Decoding, Record, TextFile
from ..text.lines import read_log
from .kept_model import DATA, check_model, keep_model
from .logs import parse_statistics
from .systems import files_of
from .texts import load_texts

LOG = "train.log"
REAL = "checkpoints"  # in the folder of a run that is not a kept one
_TEXT = re.compile(r"(?:.*/)?(runs/([^/]+)/data/.*)")  # where recipes put a task's text


def keep_all(
    runs: Sequence[Run], to: Path, tasks: Collection[str], with_model: bool = False
) -> list[Path]:
    """Writes records, translations and learning curves of runs into ``to/NAME``.

    These folders are read as the runs' own are: ``dc-nmt results``, ``compare`` and ``analyze
    curves`` make from them what they make from the runs, and need the task's text beside them
    (``dc-nmt prepare``) for the references alone. None is written where one would get another's
    place.

    Args:
        runs: with their translations
        to: made where it is missing; what it has of these runs is replaced
        tasks: recipes, whose text is named from a checkout's root
        with_model: keep the models that translated too (:func:`.kept_model.keep_model`)

    Returns:
        the kept runs' folders

    Raises:
        UserError: two runs of one name, ``to/NAME`` is a run with a model or of other settings,
            or a run's text or model is missing
    """
    places: dict[str, Path] = {}
    for run in runs:
        other = places.setdefault(run.record.name, run.place)
        if other != run.place:
            raise UsageError(f"--keep {to}: {other} and {run.place} would get the same name")
        _check(run, to / run.record.name, to)
        if with_model:
            check_model(run)
    return list(dict.fromkeys(_keep(run, to / run.record.name, tasks, with_model) for run in runs))


def _keep(run: Run, folder: Path, tasks: Collection[str], with_model: bool) -> Path:
    files = files_of(run)
    texts = load_texts(files)
    # tokenised as it was translated: what is tokenised again need not be the same
    side = texts.raw if files.kind == "raw" else texts.tokenized or texts.raw
    way = f"-{run.decoding.way}" if run.decoding.way else ""
    translation = folder / f"hypotheses{way}.{files.target_lang}"
    write_lines(translation, side.hypotheses)
    log = run.located(run.record.training.log)
    if log and Path(log).is_file():
        write_lines(folder / LOG, list(_learning_curve(Path(log))))
    kept = _without_places(run, folder, tasks)
    if with_model:
        keep_model(run, folder)
        kept = replace(kept, data=replace(kept.data, folder=DATA))
    if there := record_of(folder):
        kept = replace(kept, decodings=there.decodings)
    decoding = _decoding_without_places(run, folder, tasks)
    kind = "raw" if files.kind == "raw" else "tokenized"
    decoding = replace(decoding, hypotheses=translation.name, kind=kind)
    write_record(folder / RECORD, with_decoding(kept, decoding))
    return folder


def _without_places(run: Run, folder: Path, tasks: Collection[str]) -> Record:
    """Returns a record without decodings and places of this machine."""
    record, data = run.record, run.record.data
    place = data.folder and _portable(run, data.folder, folder, tasks)
    return replace(
        record,
        data=replace(data, folder=place),
        training=replace(record.training, log=record.training.log and LOG),
        checkpoints=(),
        decodings=(),
        written_in=None,
    )


def _decoding_without_places(run: Run, folder: Path, tasks: Collection[str]) -> Decoding:
    def kept(file: TextFile | None) -> TextFile | None:
        return file and replace(file, path=_portable(run, file.path, folder, tasks))

    found = run.decoding
    return replace(
        found,
        references=tuple(filter(None, map(kept, found.references))),
        tokenized_reference=kept(found.tokenized_reference),
        source=kept(found.source),
        plain=None,
        checkpoint=None,
        stamp=None,
    )


def _portable(run: Run, path: str, folder: Path, tasks: Collection[str]) -> str:
    """Returns a path without places of this machine.

    A task's text is named from the root of the checkout, other text from the kept folder.
    """
    full = Path(run.located(path) or path).resolve()
    found = _TEXT.fullmatch(full.as_posix())
    if found and found[2] in tasks:
        return found[1]
    return Path(os.path.relpath(full, folder.resolve())).as_posix()


def _check(run: Run, folder: Path, to: Path) -> None:
    if folder.resolve() == run.folder or (folder / REAL).exists():
        raise UsageError(f"--keep {to}: {folder} is a run itself; name another folder")
    there = record_of(folder)
    if there and there.settings != run.record.settings:
        raise UsageError(
            f"--keep {to}: {folder} is a training run with another command; name another folder, "
            "or remove that one"
        )


def _learning_curve(log: Path) -> Iterator[str]:
    """Yields every validation, each after the last training line before it."""
    training = None
    for line in read_log(log):
        kind, values = parse_statistics(line) or ("", {})
        statistics = f"| {kind} | {json.dumps(values)}"
        if kind == "train_inner":
            training = statistics
        elif kind == "valid":
            if training:
                yield training
                training = None
            yield statistics
