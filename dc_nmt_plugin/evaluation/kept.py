"""Keeps finished runs without their text, small enough for a repository."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ..checkpoints.names import CHECKPOINTS
from ..errors import UsageError, UserError
from ..files import replacing, write_lines
from ..runs.finding import Run
from ..runs.record import RECORD, TextFile, record_of, with_decoding, write_record
from ..text.lines import read_log
from .logs import parse_statistics
from .systems import files_of
from .texts import load_texts

LOG = "train.log"
DATA = "data/bin"  # inside the folder of a kept model
_TEXT = re.compile(r"(?:.*/)?(runs/[^/]+/data/.*)")  # where recipes put a task's text


def keep_all(runs: Sequence[Run], to: Path, with_model: bool = False) -> list[Path]:
    """Writes records, translations and learning curves of runs into ``to/NAME``.

    These folders are read as the runs' own are: ``dc-nmt results``, ``compare`` and ``analyze
    curves`` make from them what they make from the runs. They need the task's text beside them
    (``dc-nmt prepare``) for the references alone. Everything is checked before the first is
    written.

    Args:
        runs: with their translations
        to: made where it is missing; what it has of these runs is replaced
        with_model: keep the models that translated too, in half precision, with dictionaries and
            segmentation

    Returns:
        the kept runs' folders

    Raises:
        UserError: two runs of one name, ``to/NAME`` is a run with a model or of other settings,
            or a run's text or model is missing
    """
    places: dict[str, Path] = {}
    for run in runs:
        name, folder = run.record.name, to / run.record.name
        if places.setdefault(name, run.place) != run.place:
            raise UsageError(f"--keep {to}: {places[name]} and {run.place} would get the same name")
        if folder.resolve() == run.folder or (folder / "checkpoints").exists():
            raise UsageError(f"--keep {to}: {folder} is a run itself; name another folder")
        known = record_of(folder)
        if known and known.settings != run.record.settings:
            raise UsageError(
                f"--keep {to}: {folder} is a training run with another command; name another "
                "folder, or remove that one"
            )
        if with_model:
            _model_of(run)
    for run in runs:
        _keep(run, to / run.record.name, with_model)
    return [to / name for name in places]


def _keep(run: Run, folder: Path, with_model: bool) -> None:
    files = files_of(run)
    texts = load_texts(files)
    # tokenised as it was translated: what is tokenised again need not be the same
    side = texts.raw if files.kind == "raw" else texts.tokenized or texts.raw
    name = f"-{run.decoding.way}" if run.decoding.way else ""
    translation = folder / f"hypotheses{name}.{files.target_lang}"
    write_lines(translation, side.hypotheses)
    log = run.located(run.record.training.log)
    if log and Path(log).is_file():
        write_lines(folder / LOG, list(_learning_curve(Path(log))))
    data = run.record.data.folder and _portable(run, run.record.data.folder, folder)
    if with_model:
        _keep_model(run, folder)
        data = DATA
    _write_record(run, folder, translation.name, data)


def _write_record(run: Run, folder: Path, hypotheses: str, data: str | None) -> None:
    """Writes the record without places of this machine."""
    known, record = record_of(folder), run.record

    def portable(file: TextFile | None) -> TextFile | None:
        return file and replace(file, path=_portable(run, file.path, folder))

    decoding = replace(
        run.decoding,
        hypotheses=hypotheses,
        kind="raw" if run.decoding.kind == "raw" else "tokenized",
        references=tuple(filter(None, map(portable, run.decoding.references))),
        tokenized_reference=portable(run.decoding.tokenized_reference),
        source=portable(run.decoding.source),
        plain=None,
        checkpoint=None,
        stamp=None,
    )
    kept = replace(
        record,
        data=replace(record.data, folder=data),
        training=replace(record.training, log=record.training.log and LOG),
        checkpoints=(),
        decodings=known.decodings if known else (),
        written_in=None,
    )
    write_record(folder / RECORD, with_decoding(kept, decoding))


def _portable(run: Run, path: str, folder: Path) -> str:
    """Returns a task's text from the root of the checkout, other text from the kept folder."""
    full = Path(run.located(path) or path).resolve()
    of_task = _TEXT.fullmatch(full.as_posix())
    return of_task[1] if of_task else Path(os.path.relpath(full, folder.resolve())).as_posix()


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


def _model_of(run: Run) -> tuple[Path, Path]:
    """Returns the checkpoint that translated, and the folder of its data.

    Raises:
        UserError: one of them is gone
    """
    checkpoint = run.located(run.decoding.checkpoint) or "no checkpoint is recorded"
    if not Path(checkpoint).is_file():
        raise UserError(f"{run.place}: its model is not there: {checkpoint}")
    data = run.located(run.record.data.folder) or "no folder is recorded"
    if not any(Path(data).glob("dict.*.txt")):
        raise UserError(f"{run.place}: its dictionaries are not there: {data}")
    return Path(checkpoint), Path(data)


def _keep_model(run: Run, folder: Path) -> None:
    """Writes the model, its dictionaries and its segmentation, without any text."""
    import torch

    from ..checkpoints.loading import load_checkpoint
    from ..checkpoints.plain import portable

    checkpoint, data = _model_of(run)
    state = portable(load_checkpoint(str(checkpoint)), str(checkpoint), DATA)
    place = folder / CHECKPOINTS[0]
    place.parent.mkdir(parents=True, exist_ok=True)
    with replacing(place) as temporary:
        torch.save(state, temporary)
    for origin, to, names in (
        (data, "bin", ["dict.*.txt"]),
        (data.parent / data.name.replace("bin", "bpe", 1), "bpe", ["codes*"]),
        (data.parent / "raw", "raw", ["manifest.json", "truecase.*"]),
    ):
        (folder / "data" / to).mkdir(parents=True, exist_ok=True)
        for file in (file for name in names for file in origin.glob(name)):
            shutil.copyfile(file, folder / "data" / to / file.name)
