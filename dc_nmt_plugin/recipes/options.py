"""Options of the recipe commands, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .launch import MachineOptions

DOWNLOADS = Path("runs/downloads")


@dataclass(frozen=True)
class TextOptions:
    """Options of ``dc-nmt prepare``.

    Attributes:
        task: name of a task
        archs: architectures to prepare for; none: all of the task's papers
        bpe: names of further segmentations to prepare
        out: output folder; default ``runs/TASK``, or the folder of the user's recipe
        sample: approximate number of training pairs; None for all
        raw: folder with files that the user has
        downloads: folder of fetched files
        any_counts: continue when numbers of lines differ from the published ones
    """

    task: str
    archs: tuple[str, ...] = ()
    bpe: tuple[str, ...] = ()
    out: Path | None = None
    sample: int | None = None
    raw: Path | None = None
    downloads: Path = DOWNLOADS
    any_counts: bool = False


@dataclass(frozen=True)
class RunOptions:
    """Options of training and evaluation.

    Attributes:
        task, arch: names
        size: of the architecture; default the paper's
        seed: of the training run
        name: folder of the run; default of its architecture, size and seed
        out, sample: as the text was prepared
        average: number of averaged checkpoints; default the recipe's
        decoding: name of this decoding, if the run is decoded in several ways
        like: entry of ``papers.yaml`` whose settings are used; default the recipe's choice
        subset: translated set: ``test``, ``valid`` or a further test set
    """

    task: str
    arch: str
    size: str | None = None
    seed: int = 1
    name: str | None = None
    out: Path | None = None
    sample: int | None = None
    average: int | None = None
    decoding: str = ""
    like: str | None = None
    subset: str = "test"


@dataclass(frozen=True)
class TrainOptions:
    """Options of training only.

    Attributes:
        flags: of fairseq-train, after the recipe's own
        schedule: the same, before those of a task's own size
        max_update: another number of updates
        max_tokens: of one GPU at a time
        update_freq: batches whose gradients are summed; default: keeps the tokens per update
        machines: GPUs and machines
    """

    flags: tuple[str, ...] = ()
    schedule: tuple[str, ...] = ()
    max_update: int | None = None
    max_tokens: int | None = None
    update_freq: int | None = None
    machines: MachineOptions = field(default_factory=MachineOptions)
