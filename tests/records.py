"""Records of runs for tests, written as ``dc-nmt train``, ``evaluate`` and ``score`` write them."""

from __future__ import annotations

import json
import random
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from dc_nmt_plugin.flags import typed_flags
from dc_nmt_plugin.runs.record import (
    RECORD,
    SCHEMA,
    Data,
    Decoding,
    Record,
    Score,
    TextFile,
    Training,
    read_record,
    update_record,
    with_decoding,
)

REFERENCE = ["Ein Haus steht am Fluss.", "Die Katze schläft.", "Wir gehen heute nach Hause."]
SCORES = (
    Score("mteval-v13a", 1.0, "b", "raw"),
    Score("mteval-v13a-lc", 2.0, "lc", "raw"),
    Score("chrf", 3.0, "c", "raw"),
)
WORDS = ["the", "a", "house", "tree", "river", "green", "old", "walks", "sees", "of", "in"]


def spoil(lines: Sequence[str], share: float, seed: int) -> list[str]:
    """Replaces a share of the words."""
    chooser = random.Random(seed)
    return [
        " ".join("x" if chooser.random() < share else word for word in line.split())
        for line in lines
    ]


def write_record(path: Path, record: Record) -> None:
    """Writes a record in place of the one that is there."""
    update_record(path, lambda _: record)


def tokens_of(settings: Mapping[str, Any]) -> int | None:
    """The tokens of an update, of a training by one process."""
    tokens = settings.get("max-tokens")
    return int(tokens) * int(settings.get("update-freq", 1)) if tokens else None


def write_run(folder: Path, arch: str = "transformer_dc", flags: str = "", **facts: Any) -> Path:
    """Writes the record of a trained run into a folder whose name may end in -sSEED."""
    words = shlex.split(f"--arch {arch} {flags}")
    seed = re.search(r"-s(\d+)$", folder.name)
    training = {
        "updates": 2000, "tokens": tokens_of(typed_flags(words)), "parameters": 1_000_000,
        "tokens_per_second": 1000.0, "seconds": 5.0, "log": "train.log",
    }  # fmt: skip
    known: dict[str, Any] = {
        "name": folder.name,
        "system": folder.name.removesuffix(seed[0]) if seed else folder.name,
        "data": Data("en", "de"),
        "task": folder.resolve().parent.name,
        "architecture": arch,
        "seed": int(seed[1]) if seed else None,
        "settings": typed_flags(words),
        "written_in": str(folder.resolve()),
    }
    training |= {name: facts.pop(name) for name in tuple(training) if name in facts}
    folder.mkdir(parents=True, exist_ok=True)
    record = Record(schema=SCHEMA, training=Training(**training), **{**known, **facts})
    write_record(folder / RECORD, record)
    return folder


def write_scored(
    folder: Path, hypotheses: object, reference: object, search: str = "", **facts: Any
) -> Path:
    """Adds a scored translation to the record of a run."""
    values: dict[str, Any] = {
        "search": typed_flags(search.split()),
        "hypotheses": str(hypotheses),
        "kind": "raw",
        "references": (TextFile(str(reference)),),
        "updates": read_record(folder).training.updates,
        "sentences": 150,
        "sentences_per_second": 50.0,
        "scores": SCORES,
    }
    decoding = Decoding(**{**values, **facts})
    write_record(folder / RECORD, with_decoding(read_record(folder), decoding))
    return folder


def change(folder: Path, **facts: Any) -> None:
    """Changes facts of a record."""
    write_record(folder / RECORD, replace(read_record(folder), **facts))


def values_of(folder: Path) -> Mapping[str, Any]:
    """Returns a record as JSON has it."""
    values: Mapping[str, Any] = json.loads(json.dumps(asdict(read_record(folder))))
    return values
