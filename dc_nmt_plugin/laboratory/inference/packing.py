"""Writes what was made of a run: one folder that works anywhere, or one checkpoint."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...checkpoints.names import MEAN, OF_TRAINING
from ...errors import UsageError
from ...files import is_same_file, making, replacing, write_lines
from ...runs.record import CURVE, RECORD, Decoding, Record, TextFile, read_record, update_record
from ...text.segmentation import codes_folder, segmenter_of_codes
from ..evaluation.systems import texts_of
from ..evaluation.texts import Texts
from ..finding import Run, located
from .trained_run import TrainedRun

DATA = "data/bin"  # inside the folder of a packed model
_TEXT = re.compile(r"(?:.*/)?(runs/[^/]+/data/.*)")  # where recipes put a task's text


def pack(folder: Path, to: Path, model: TrainedRun | None, codes: Path | None = None) -> None:
    """Writes a run's record, translations and learning curve, and its model if asked for.

    The packed folder is read as the run's own is: ``dc-nmt results``, ``compare`` and ``analyze
    curves`` make from it what they make from the run, with the task's text (``dc-nmt prepare``) for
    the references alone. ``dc-nmt translate`` works with its model.

    Args:
        folder: of the run
        to: made where it is missing; files of an earlier pack of the same run are replaced
        model: of the run; None: pack no model
        codes: of the segmentation, if they are not in the run's own place

    Raises:
        UserError: `to` has something else, or a text is missing
    """
    record = read_record(folder)
    exists = _is_earlier_pack(to, record)
    runs = Run.all_of(folder)
    # what can fail comes before anything is written
    texts = [texts_of(run) for run in runs]
    with nullcontext(to) if exists else making(to) as part:
        decodings = []
        for run, text in zip(runs, texts, strict=True):
            name = _write_hypotheses(run, text, part)
            decodings.append(_portable_decoding(run, to, name))
        has_curve = (folder / CURVE).is_file()
        if has_curve:
            shutil.copyfile(folder / CURVE, part / CURVE)
        data = record.data.folder
        if data:
            data = DATA if model else _portable(folder / RECORD, record, data, to)
        if model:
            _write_model(model, codes, part)
        packed = replace(
            record,
            data=replace(record.data, folder=data),
            training=replace(record.training, log=CURVE if has_curve else None),
            checkpoints=(),
            decodings=tuple(decodings),
            written_in=None,
        )
        update_record(part / RECORD, lambda _: packed)


def _is_earlier_pack(to: Path, record: Record) -> bool:
    """Returns True for an earlier pack of the run, False for an empty or missing folder."""
    is_taken = to.is_file() or (to.is_dir() and any(to.iterdir()))
    if not is_taken:
        return False
    if (to / RECORD).is_file():
        known = read_record(to)
        if not known.written_in and known.settings == record.settings:
            return True
    raise UsageError(f"--run {to}: has something else; name another folder")


def _write_hypotheses(run: Run, texts: Texts, to: Path) -> str:
    """Writes the hypotheses of one translation of a run, and returns the file's name."""
    key = f"-{run.decoding.key}" if run.decoding.key else ""
    name = re.sub(r"[^\w.+-]", "_", f"hypotheses{key}.{run.record.data.target}")
    write_lines(to / name, texts.translated(run.decoding.kind))
    return name


def _portable_decoding(run: Run, to: Path, hypotheses: str) -> Decoding:
    """Returns a translation without places of this machine."""

    def portable(file: TextFile) -> TextFile:
        return replace(file, path=_portable(run.path, run.record, file.path, to))

    decoding = run.decoding
    tokenized, source = decoding.tokenized_reference, decoding.source
    return replace(
        decoding,
        hypotheses=hypotheses,
        kind="raw" if decoding.kind == "raw" else "tokenized",
        references=tuple(map(portable, decoding.references)),
        tokenized_reference=tokenized and portable(tokenized),
        source=source and portable(source),
        plain=None,
        checkpoint=None,
        ensemble=tuple(replace(each, checkpoint=None) for each in decoding.ensemble),
        stamp=None,
    )


def _portable(origin: Path, record: Record, path: str, to: Path) -> str:
    """Returns a task's text from the root of the checkout, other text from the packed folder."""
    full = Path(located(origin, record, path) or path).resolve()
    of_task = _TEXT.fullmatch(full.as_posix())
    return of_task[1] if of_task else Path(os.path.relpath(full, to.resolve())).as_posix()


def _write_model(run: TrainedRun, codes: Path | None, to: Path) -> None:
    """Writes the model in half precision, its dictionaries and its segmentation."""
    import torch

    from ...checkpoints.loading import load_checkpoint
    from ...checkpoints.mechanisms import check_code
    from .portable import portable

    name = str(run.checkpoint)
    trained = load_checkpoint(name)
    check_code(name, trained)
    state = portable(trained, name, DATA)
    checkpoint = to / MEAN
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    with replacing(checkpoint) as temporary:
        torch.save(state, temporary)
    beside = run.data.resolve().parent
    for origin, inside, pattern in (
        (run.data, DATA, "dict.*.txt"),
        (codes_folder(run.data), "data/bpe", "codes*"),
        (beside / "raw", "data/raw", "manifest.json"),
        (beside / "raw", "data/raw", "truecase.*"),
    ):
        (to / inside).mkdir(parents=True, exist_ok=True)
        for file in origin.glob(pattern):
            shutil.copyfile(file, to / inside / file.name)
    if codes:
        shutil.copyfile(codes, to / f"data/bpe/codes{segmenter_of_codes(codes).ending}")


def save_checkpoint(state: dict[str, Any], path: Path, sources: Sequence[Path]) -> None:
    """Writes a checkpoint, whole or not at all, that was made of others.

    Raises:
        UserError: the file cannot be written, or is one of `sources`, or has a name of a training
    """
    import torch

    if any(is_same_file(path, source) for source in sources):
        raise UsageError(f"--out {path}: is a checkpoint that is read; take another name")
    if re.fullmatch(rf"{OF_TRAINING}.*\.pt", path.name):
        # training would begin again from it, without the optimizer's state, or average would
        # count it
        raise UsageError(f"--out {path}: is a name that a training writes; take another name")
    with replacing(path) as temporary:
        torch.save(state, temporary)
