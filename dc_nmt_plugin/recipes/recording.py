"""Writes what training knows into the record of a run."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Sequence
from dataclasses import replace

from ..environment.install_fairseq import NAMES, version_of
from ..errors import UserError
from ..evaluation.logs import measured
from ..flags import tokens_of, typed_flags
from ..machine import used_device
from ..runs.places import described
from ..runs.records import read_record, record_of, update_record, write_record
from ..runs.schema import RECORD, SCHEMA, Record, Training
from .experiment import Experiment

LOG = "train.log"
_PLACES = ("user-dir", "save-dir")  # flags whose values are places of this machine


def begin_record(run: Experiment, command: Sequence[str], continued: bool) -> None:
    """Writes the record of a training run that begins.

    Args:
        run: in its folder
        command: of fairseq-train
        continued: keep the translations of the record that is there

    Raises:
        UserError: its record is unusable
    """
    folder = run.folder
    words = command[list(command).index("--user-dir") :]
    settings = {k: value for k, value in typed_flags(words).items() if k not in _PLACES}
    before = record_of(folder) if continued else None
    name = before.name if before else folder.resolve().name
    seed = settings.get("seed")
    known = Training(
        tokens=tokens_of(words),
        device=used_device(settings),
        versions=_versions(),
        log=LOG,
    )
    record = Record(
        schema=SCHEMA,
        name=name,
        system=name.removesuffix(f"-s{seed}"),
        data=described(folder, run.binarised, run.source, run.target),
        task=run.recipe,
        architecture=run.arch,
        seed=seed if isinstance(seed, int) else None,
        settings=settings,
        training=known,
        decodings=before.decodings if before else (),
        written_in=os.path.abspath(folder),
    )
    write_record(folder / RECORD, record)


def end_record(run: Experiment) -> None:
    """Adds what was measured, also to the record of a run that stopped early."""
    files = sorted(run.checkpoints.glob("checkpoint*.pt"))
    checkpoints = tuple(path.relative_to(run.folder).as_posix() for path in files)
    training = read_record(run.folder).training
    with contextlib.suppress(UserError):  # stopped before its first statistics
        training = measured(training, run.folder / LOG)
    update_record(run.record, lambda r: replace(r, training=training, checkpoints=checkpoints))


def _versions() -> dict[str, str]:
    names = ("dc_nmt_plugin", "torch", *NAMES)
    found = {name: version for name in names if (version := version_of(name))}
    return {"python": platform.python_version(), **found}
