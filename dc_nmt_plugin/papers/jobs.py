"""Options of ``dc-nmt paper run``, and the jobs of its plan."""

from __future__ import annotations

import contextlib
import importlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UserError
from ..files import writing
from .selection import NEEDED
from .systems import Training


@dataclass(frozen=True)
class Options:
    """Options of ``dc-nmt paper run``.

    Attributes:
        seeds: a training run for each
        max_update: another number of updates
        text: further words for ``dc-nmt prepare``
        any_counts: train on the pairs that are there
        probing, trees: the user's files
    """

    seeds: tuple[int, ...] = (1,)
    max_update: int | None = None
    text: tuple[str, ...] = ()
    any_counts: bool = False
    probing: Path | None = None
    trees: Path | None = None

    @property
    def flags(self) -> list[str]:
        """Returns the flags of :data:`NEEDED` that are given."""
        values = (self.any_counts, self.probing, self.trees)
        return [flag for flag, value in zip(NEEDED, values, strict=True) if value]


@dataclass(frozen=True)
class Job:
    """One command of dc-nmt.

    Attributes:
        words: of the command, without ``dc-nmt``
        output: file of standard output
        training: the run; None for other commands
    """

    words: tuple[str, ...]
    output: Path | None = None
    training: Training | None = None

    def __str__(self) -> str:
        return f"dc-nmt {shlex.join(self.words)}" + (f" > {self.output}" if self.output else "")


def run_jobs(jobs: Sequence[Job]) -> None:
    """Runs the jobs of a plan, one after the other.

    Skips finished texts, training runs and evaluations; always repeats analyses.

    Raises:
        UserError: a job failed
    """
    for number, job in enumerate(jobs, 1):
        print(f"[{number}/{len(jobs)}] {job}", flush=True)
        name = job.words[0].replace("-", "_")
        main = importlib.import_module(f"dc_nmt_plugin.commands.{name}").main
        if job.output is None:
            code = main(list(job.words[1:]))
        else:
            job.output.parent.mkdir(parents=True, exist_ok=True)
            with writing(job.output) as out, contextlib.redirect_stdout(out):
                code = main(list(job.words[1:]))
        if code:
            raise UserError(f"failed: {job}")
