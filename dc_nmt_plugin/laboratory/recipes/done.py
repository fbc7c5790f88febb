"""What is done already of a run: its text, its updates, the mean of its checkpoints, its scores.

A text has the stamp of what it depends on. fairseq-train writes the record of the run
(compat/run_record.py), fairseq-generate enters the translation there, and dc-nmt score its scores.
A mean names the checkpoints that it is of.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...checkpoints.names import BEST, LAST, UPDATE, numbered
from ...errors import UsageError, UserError
from ...flags import typed_flags
from ...runs.data import dictionaries_of, is_its_text, text_file
from ...runs.record import read_record, record_of
from ..steps import stamp_of
from .planned import PlannedDecoding, PlannedRun

if TYPE_CHECKING:
    from ...runs.record import Flags

FINISHED = "done training in"  # in the last lines of fairseq-train's log
# kinds of flags that may differ when a training goes on
WHILE_TRAINING = ("machine", "log", "batch", "checkpoints")


def has_text(run: PlannedRun) -> bool:
    """Returns True if the text of a run is prepared."""
    return (run.text.binarised / ".stamp").is_file()


# -- updates -----------------------------------------------------------------------------------


def is_trained(run: PlannedRun) -> bool:
    """Returns True if the training in the folder of a run is finished."""
    record = record_of(run.folder)
    if record is None:
        return False
    # the record counts an update before its checkpoint is saved, and the disk may be full then
    if (run.folder / "train.log").is_file():
        return _program_ended(run.folder / "train.log")
    last_update = record.settings.get("max-update")
    updates = record.training.updates
    return updates is not None and isinstance(last_update, int) and updates >= last_update


def _program_ended(log: Path) -> bool:
    """Returns True if fairseq-train came to its end, also before, as with --patience."""
    with open(log, encoding="utf-8", errors="replace") as lines:
        return any(FINISHED in line for line in deque(lines, maxlen=20))


def is_trained_so(run: PlannedRun, settings: Flags, tokens: int, *, any_precision: bool) -> bool:
    """Returns True if a training with these settings is finished in the folder of the run.

    Args:
        run: the run
        settings: what its record will have
        tokens: of one update
        any_precision: the user chose none, so one of either precision is this training

    Raises:
        UserError: the folder has another training
    """
    from ...runs.differences import all_settings, differing, shown

    record = record_of(run.folder)
    trained = is_trained(run)
    # without checkpoints nothing can be lost; a finished run may have no checkpoints left
    if record is None or not (trained or any(run.checkpoints.glob("checkpoint*.pt"))):
        return False
    settings_there = all_settings(record)
    before = identity(settings_there, record.training.tokens, any_precision=any_precision)
    now = identity(settings, tokens, any_precision=any_precision)
    other = [
        f"{setting.name} {shown(setting.value)} there, {shown(setting.other_value)} now"
        for setting in differing(before, now)
    ]
    if not is_its_text(record, run.text.binarised):
        other.append(f"other text in {run.text.binarised}")
    if other:
        raise UserError(
            f"{run.folder} has a run with other data or settings ({'; '.join(other)}): "
            "give another --name, or remove that folder"
        )
    return trained


def identity(settings: Flags, tokens: int | None, *, any_precision: bool) -> dict[str, Any]:
    """Returns the settings that make a training another one, but for its text.

    Args:
        settings: as in its record
        tokens: of one update; None: unknown
        any_precision: a CPU multiplies in the precision in which it is faster
    """
    from ...runs.differences import TOKENS, compared

    chosen = compared(settings, WHILE_TRAINING)
    if any_precision:
        chosen.pop("amp", None)
    return {**chosen, TOKENS: tokens}


def check_run(run: PlannedRun) -> None:
    """Raises UserError if the folder has no training, or that of another model or text."""
    record = read_record(run.folder)
    if record.architecture not in (None, run.arch):
        raise UsageError(f"{run.folder} has a run of {record.architecture}, not of {run.arch}")
    if not is_its_text(record, run.text.binarised):
        raise UserError(
            f"{run.folder} was trained when {run.text.binarised} had other text: train anew with "
            "another --name, or prepare that text again"
        )


# -- the mean of the last checkpoints ----------------------------------------------------------


def checkpoints_of_mean(decoding: PlannedDecoding) -> list[str]:
    """Returns the names of the checkpoints that the mean is to be of.

    A finished training kept no more than its own ``--average``: then its last checkpoint counts
    too, but no update twice.
    """
    if decoding.average == 0:
        return [BEST]
    run = decoding.run
    names = update_checkpoints(run)[-decoding.average :]
    if len(names) < decoding.average and is_trained(run) and (run.checkpoints / LAST).is_file():
        end = read_record(run.folder).training.updates
        if not names or not names[-1].endswith(f"_{end}.pt"):
            names.append(LAST)
    return names


def update_checkpoints(run: PlannedRun) -> list[str]:
    """Returns the names of the checkpoints of single updates."""
    if not run.checkpoints.is_dir():
        return []
    return [path.name for _, path in numbered(run.checkpoints, UPDATE)]


def is_averaged(decoding: PlannedDecoding) -> bool:
    """Returns True if the mean is of the checkpoints that are there now, or none are there.

    Raises:
        UserError: the folder has no such run
    """
    from ...checkpoints.loading import averaged_names, updates_of

    check_run(decoding.run)
    if not decoding.checkpoint.is_file():
        return False
    names = averaged_names(str(decoding.checkpoint))
    now = checkpoints_of_mean(decoding)
    newest = decoding.run.checkpoints / now[-1] if now else None
    if newest is None or not newest.is_file():
        return len(names) == max(1, decoding.average)
    if names != tuple(now):
        return False
    # the name of the best checkpoint, or of the last one, says nothing about its updates
    return updates_of(str(newest)) == updates_of(str(decoding.checkpoint))


# -- translation and scores --------------------------------------------------------------------


def check_ensemble(decoding: PlannedDecoding) -> None:
    """Raises UserError for a model of an ensemble that has other dictionaries or languages."""
    run = decoding.run
    here = [run.text.source, run.text.target, dictionaries_of(run.text.binarised)]
    for other in decoding.ensemble:
        languages = [other.task.get("source_lang"), other.task.get("target_lang")]
        if [*languages, dictionaries_of(other.data)] != here:
            raise UserError(
                f"--with {other.folder}: translates from {languages[0]} to {languages[1]} with the "
                f"dictionaries of {other.data}, and an ensemble needs those of "
                f"{run.text.binarised} and its languages; train both with the same --dictionary"
            )
        if other.folder.resolve() == run.folder.resolve():
            raise UserError(f"--with {other.folder}: is the evaluated run itself; name another")


def is_translated(decoding: PlannedDecoding) -> bool:
    """Returns True if the record has this translation by this model, of the text that is here."""
    from ...runs.translation import member

    folder, text = decoding.run.folder, decoding.run.text
    known = read_record(folder).decoding(decoding.key)
    if known is None or not decoding.output.is_dir():
        return False
    own, *others = (member(folder, model) for model in decoding.models)
    if (known.updates, known.averaged) != (own.updates, own.averaged):
        return False
    if known.ensemble != tuple(others):
        return False
    if known.search != typed_flags(decoding.search):
        return False
    texts = [text_file(folder, decoding.raw_text(name)) for name in (text.source, text.target)]
    pairs = zip([known.source, *known.references], texts, strict=False)
    return all(file is None or now.sha256 in (None, file.sha256) for file, now in pairs)


def is_scored(decoding: PlannedDecoding, words: Sequence[str]) -> bool:
    """Returns True if ``dc-nmt score WORDS`` has entered its scores into the record."""
    known = read_record(decoding.run.folder).decoding(decoding.key)
    return known is not None and bool(known.scores) and known.stamp == stamp_of(words)


def has_scores(decoding: PlannedDecoding) -> bool:
    """Returns True if the training is finished, and this translation has scores."""
    record = record_of(decoding.run.folder)
    known = record and record.decoding(decoding.key)
    return bool(known and known.scores) and is_trained(decoding.run)
