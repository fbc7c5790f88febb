"""Runs as jobs on Slurm: the text, an array with a job for each run, then the table."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...errors import UserError
from .. import variable
from ..steps import Grid, GridRun
from .jobs import (
    PYTHON,
    SAFE_PATH,
    JobCommands,
    file_of,
    folder_of,
    job_of,
    lines_of,
    remember,
    state_on_slurm,
    submitit,
)

A_DAY = 60 * 24  # minutes


@dataclass(frozen=True)
class Cluster:
    """What a job on Slurm gets."""

    minutes: int = A_DAY
    gpus: int = 1
    partition: str | None = None
    further: Mapping[str, str] = field(default_factory=dict)  # words for sbatch, without dashes


def submit(grid: Grid, cluster: Cluster) -> list[str]:
    """Submits the text, then an array with a job for each run, then the analyses and the table.

    A run that waits or runs already is left out.

    Args:
        grid: with the runs that are not finished
        cluster: what a job gets

    Returns:
        lines that say what was submitted

    Raises:
        UserError: Slurm is not there, or refuses a job; then nothing is left of the others
    """
    for program in ("sbatch", "srun"):
        if shutil.which(program) is None:
            raise UserError(f"--on slurm: this machine has no {program}; log in where Slurm is")
    busy = {run.name: line for run in grid.runs if (line := _already_there(run))}
    runs = [run for run in grid.runs if run.name not in busy]
    lines = [*busy.values(), *_useless(runs, cluster.gpus)]
    if not runs:
        return lines
    with _all_or_nothing(folder_of(runs[0])) as jobs, variable(*SAFE_PATH):
        lines += _submit(replace(grid, runs=runs), cluster, jobs)
    return lines


def _already_there(run: GridRun) -> str:
    """Returns a line about the job of a run that waits or runs on Slurm; "" without."""
    job = job_of(run)
    if job is None or job.on != "slurm":
        return ""
    state = state_on_slurm(run, job)
    if state == "failed":
        return ""
    return (
        f"{run.name}: {state} as job {job.job}, and not submitted again; to submit it anew, "
        f"scancel {job.job} and remove {file_of(run)}"
    )


def _useless(runs: Sequence[GridRun], gpus: int) -> list[str]:
    """Returns a line if a run has more GPUs than its batch fills."""
    filled = max((run.most_gpus for run in runs), default=gpus)
    if gpus <= filled:
        return []
    return [f"--gpus {gpus}: a batch fills {filled}; more do not make a run faster"]


@contextmanager
def _all_or_nothing(folder: Path) -> Iterator[list[Any]]:
    """Yields a list for jobs. If one is refused, they are cancelled, and their files removed.

    Raises:
        UserError: what Slurm said
    """
    before = {folder, *folder.glob("*")} if folder.is_dir() else set()
    jobs: list[Any] = []
    try:
        with redirect_stderr(io.StringIO()):  # submitit prints there what it raises
            yield jobs
    except (RuntimeError, OSError, submitit().core.utils.UncompletedJobError) as error:
        for job in jobs:
            with suppress(Exception):
                job.cancel()
        for path in set(folder.glob("*")) - before:
            path.unlink()
        if folder not in before:
            folder.rmdir()
        said = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"--on slurm: nothing was submitted; Slurm said: {said}") from error


def _submit(grid: Grid, cluster: Cluster, jobs: list[Any]) -> list[str]:
    """Submits all jobs, and adds them to `jobs` one by one; returns a line for each."""
    folder = folder_of(grid.runs[0])
    common: dict[str, Any] = {"time": cluster.minutes, "stderr_to_stdout": True}
    if cluster.partition:
        common["partition"] = cluster.partition
    if cluster.further:
        common["additional_parameters"] = dict(cluster.further)

    def executor(**more: Any) -> Any:
        made = submitit().SlurmExecutor(folder, max_num_timeout=10**6, python=PYTHON)
        made.update_parameters(**common, **more)
        return made

    lines = []
    of_runs: dict[str, Any] = {"gpus_per_node": cluster.gpus} if cluster.gpus else {}
    if grid.texts:
        text = executor(job_name="dc-nmt-text").submit(JobCommands(lines_of(grid.texts)))
        jobs.append(text)
        of_runs["dependency"] = f"afterok:{text.job_id}"
        lines.append(f"{text.job_id}: the text")
    array = executor(job_name="dc-nmt", **of_runs)
    with array.batch():
        in_array = [array.submit(JobCommands(lines_of(run.commands))) for run in grid.runs]
    jobs += in_array
    lines += [f"{job.job_id}: {run.name}" for run, job in zip(grid.runs, in_array, strict=True)]
    if grid.table is not None:
        ids = ":".join(dict.fromkeys(job.job_id.partition("_")[0] for job in in_array))
        last = executor(job_name="dc-nmt-table", dependency=f"afterany:{ids}")
        commands = lines_of([*grid.analyses, grid.table])
        jobs.append(last.submit(JobCommands(commands, to_the_end=True)))
        lines.append(f"{jobs[-1].job_id}: the table, in {jobs[-1].paths.stdout}")
    for run, job in zip(grid.runs, in_array, strict=True):
        remember(run, "slurm", job)
    return lines
