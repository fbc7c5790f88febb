"""Options of ``dc-nmt paper run``, and its jobs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .costs import Cost


@dataclass(frozen=True)
class Options:
    """Options of ``dc-nmt paper run``.

    Attributes:
        seeds: a training run for each
        sample: small, with about so many training pairs
        max_update: another number of updates
        text: further words for ``dc-nmt prepare``
        any_counts: train on the pairs that are there
        files: the user's files: key of :data:`.obstacles.FILES` → path
    """

    seeds: tuple[int, ...] = (1,)
    sample: int | None = None
    max_update: int | None = None
    text: tuple[str, ...] = ()
    any_counts: bool = False
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """One command of dc-nmt.

    Attributes:
        kind: ``text``, ``training``, ``evaluation`` or ``analysis``
        words: of the command, without ``dc-nmt``
        after: places in the plan of the jobs that have to be done before
        gpus, hours: of a job on a cluster, by default; None: one GPU, one day
        output: file of standard output
        cost: of training, or of the text; None where it is not known, as for a sample
    """

    kind: str
    words: tuple[str, ...]
    after: tuple[int, ...] = ()
    gpus: int | None = None
    hours: int | None = None
    output: Path | None = None
    cost: Cost | None = None

    def __str__(self) -> str:
        return f"dc-nmt {shlex.join(self.words)}" + (f" > {self.output}" if self.output else "")


@dataclass
class Plan:
    """The jobs of a plan, each once, those that others need first."""

    jobs: list[Job] = field(default_factory=list)

    def add(self, job: Job) -> int:
        """Adds a job unless it exists, and returns its index."""
        if job not in self.jobs:
            self.jobs.append(job)
        return self.jobs.index(job)
