"""Options of ``dc-nmt paper run``, and the jobs of its plan."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from .selection import NEEDED
from .systems import Training


@dataclass(frozen=True)
class Options:
    """Options of ``dc-nmt paper run``.

    Attributes:
        seeds: a training run for each
        sample: small, with about so many training pairs
        max_update: another number of updates
        text: further words for ``dc-nmt prepare``
        any_counts: train on the pairs that are there
        probing, trees: the user's files
    """

    seeds: tuple[int, ...] = (1,)
    sample: int | None = None
    max_update: int | None = None
    text: tuple[str, ...] = ()
    any_counts: bool = False
    probing: Path | None = None
    trees: Path | None = None

    @property
    def given(self) -> list[str]:
        """Returns the flags of :data:`NEEDED` that are given; a sample takes any pairs."""
        values = (self.any_counts or self.sample, self.probing, self.trees)
        return [flag for flag, value in zip(NEEDED, values, strict=True) if value]


@dataclass(frozen=True)
class Job:
    """One command of dc-nmt.

    Attributes:
        kind: ``text``, ``training``, ``evaluation`` or ``analysis``
        words: of the command, without ``dc-nmt``
        after: places in the plan of the jobs that have to be done before
        gpus, hours: of a job on a cluster; None: one GPU, one day
        output: file of standard output
        training: the run; None for other commands, and for a sample
    """

    kind: str
    words: tuple[str, ...]
    after: tuple[int, ...] = ()
    gpus: int | None = None
    hours: int | None = None
    output: Path | None = None
    training: Training | None = None

    def __str__(self) -> str:
        return f"dc-nmt {shlex.join(self.words)}" + (f" > {self.output}" if self.output else "")


def add(jobs: list[Job], job: Job) -> int:
    """Adds a job to a plan unless it is there, and returns its place."""
    if job not in jobs:
        jobs.append(job)
    return jobs.index(job)
