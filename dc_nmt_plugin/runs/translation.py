"""Enters a translation by fairseq-generate into the record of the run that translated.

Only output in ``RUN/generate`` or ``RUN/generate-KEY`` is entered, where ``dc-nmt evaluate`` and
its printed script put it: other output may be of a trial.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..checkpoints.loading import averaged_names, load_checkpoint, updates_of
from ..checkpoints.mechanisms import other_sources
from ..checkpoints.names import BEST
from ..files import PART
from ..flags import INPUT, flags_of, typed_flags
from ..machine import used_device
from .call import this_call
from .data import path_from, preparation_of
from .record import (
    RECORD,
    Decoding,
    Member,
    Record,
    record_of,
    update_record,
    with_decoding,
)


def enter_translation(
    words: Sequence[str], data: Path, checkpoints: Sequence[Path], results: Path, subset: str
) -> None:
    """Enters the translation of ``fairseq-generate WORDS``; its scores come later.

    Args:
        words: of the command line
        data: folder of the binarised text
        checkpoints: models that translated, that of the run first
        results: of ``--results-path``
        subset: fairseq's name of the set
    """
    folder = results.resolve().parent
    name = re.fullmatch(r"generate(?:-(.+))?", results.name.removesuffix(PART))
    first = checkpoints[0].resolve()
    if not name or not (folder / RECORD).is_file() or folder not in first.parents:
        return
    split, decoding = _named(name[1] or "", subset, data)
    inputs = flags_of(INPUT)
    search = {flag: value for flag, value in typed_flags(words).items() if flag not in inputs}
    own, *others = (member(folder, checkpoint) for checkpoint in checkpoints)
    sources: dict[str, str] = {}
    for checkpoint in checkpoints:
        sources |= other_sources(load_checkpoint(str(checkpoint), mmap=True))
    entry = Decoding(
        decoding,
        split,
        search,
        checkpoint=own.checkpoint,
        updates=own.updates,
        averaged=own.averaged,
        ensemble=tuple(others),
        sources=sources,
        device=used_device({**search, "distributed-world-size": 1}),  # fairseq-generate takes one
        translated=this_call(),
    )

    def entered(record: Record | None) -> Record:
        assert record is not None
        return with_decoding(record, entry)

    update_record(folder / RECORD, entered)


def member(folder: Path, checkpoint: Path) -> Member:
    """Returns a model that translated, for a record in `folder`."""
    path = checkpoint.resolve()
    record = record_of(path.parent) or record_of(path.parents[1])
    return Member(
        run=record.name if record else None,
        checkpoint=path_from(folder, path),
        architecture=record.architecture if record else None,
        parameters=record.training.parameters if record else None,
        averaged=number_averaged(averaged_names(str(path))),
        updates=updates_of(str(path)),
    )


def number_averaged(names: Sequence[str]) -> int | None:
    """Returns the number of averaged last checkpoints; 0 for the best one, None for no mean."""
    return 0 if tuple(names) == (BEST,) else len(names) or None


def _named(key: str, subset: str, data: Path) -> tuple[str, str]:
    """Returns the set and the decoding that a folder is named for: ``generate-SET.DECODING``."""
    if subset == "test":
        return subset, key
    split = subset
    prepared = preparation_of(data)
    if prepared and subset not in prepared["pairs"]:  # fairseq names further sets test1, test2, …
        split = list(prepared["pairs"])[2 + int(subset.removeprefix("test"))]
    return split, key.removeprefix(split).removeprefix(".")
