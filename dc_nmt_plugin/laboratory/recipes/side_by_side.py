"""Runs as jobs at the same time on this machine."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from ...machine import usable_cpus
from .. import variable
from ..steps import GridRun
from .execution import Progress
from .jobs import (
    PYTHON,
    SAFE_PATH,
    JobCommands,
    folder_of,
    lines_of,
    remember,
    submitit,
    updates_text,
)

POLL, SHOW = 0.5, 30  # seconds between two looks at the jobs, and between two lines about them
PATIENCE = 15  # seconds after which jobs that do not end get another signal
NO_LIMIT = 60 * 24 * 365  # minutes


def run_side_by_side(
    runs: Sequence[GridRun], jobs: int, gpus: int, progress: Progress
) -> dict[str, str]:
    """Runs the commands of a grid, `jobs` at a time, each with its own GPU or CPU threads.

    Returns:
        name of a run that failed → its log
    """
    waiting, failed = deque(runs), dict[str, str]()
    busy: dict[int, tuple[GridRun, Any]] = {}  # slot → its run and job
    try:
        while waiting or busy:
            free = [slot for slot in range(jobs) if slot not in busy]
            for slot in free[: len(waiting)]:
                run = waiting.popleft()
                busy[slot] = run, _start(run, slot, jobs, gpus)
                progress.say(f"{run.name}: started, {len(waiting)} waiting")
            _wait(busy, progress)
            ended = {slot for slot, (_, job) in busy.items() if job.done()}
            failed |= _end([busy.pop(slot) for slot in sorted(ended)], progress)
    except BaseException:
        _end_all([job for _, job in busy.values()])
        raise
    return failed


def _wait(busy: Mapping[int, tuple[GridRun, Any]], progress: Progress) -> None:
    """Waits until a job has ended; says from time to time how far the runs are."""
    shown = time.monotonic()
    while not any(job.done() for _, job in busy.values()):
        time.sleep(POLL)
        if time.monotonic() - shown > SHOW:
            shown = time.monotonic()
            states = [f"{run.name}: {updates_text(run)}" for run, _ in busy.values()]
            progress.say("; ".join(states))


def _start(run: GridRun, slot: int, jobs: int, gpus: int) -> Any:
    executor = submitit().LocalExecutor(folder_of(run) / run.folder.name, python=PYTHON)
    executor.update_parameters(timeout_min=NO_LIMIT, stderr_to_stdout=True)
    environment = {}
    if gpus:
        executor.update_parameters(gpus_per_node=1, visible_gpus=(slot % gpus,))
    else:
        environment["OMP_NUM_THREADS"] = str(max(1, usable_cpus() // jobs))
    commands = JobCommands(lines_of(run.commands), environment, ends_on_request=True)
    with variable(*SAFE_PATH):
        job = executor.submit(commands)
    remember(run, "here", job)
    return job


def _end(ended: Sequence[tuple[GridRun, Any]], progress: Progress) -> dict[str, str]:
    """Returns name → log of the runs that failed."""
    failed = {}
    for run, job in ended:
        if job.exception() is not None:
            failed[run.name] = os.path.relpath(job.paths.stdout)
        progress.say(f"{run.name}: {'failed' if run.name in failed else 'done'}")
    return failed


def _end_all(jobs: Sequence[Any]) -> None:
    """Ends jobs and the programs that they have started.

    A job's controller hands SIGTERM on to the job, which ends its program and waits for it. A job
    that just begins may miss the first signal.
    """
    for kind in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
        for job in jobs:
            if not job.done():
                os.kill(int(job.job_id), kind)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and not all(job.done() for job in jobs):
            time.sleep(POLL)
