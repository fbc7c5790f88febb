"""Runs as jobs of their own: what submitit starts, on this machine or on Slurm, and their state.

A job is the commands of a run in a process of its own. A file beside the runs says where it is.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ...errors import UserError
from ...files import is_locked, read_json, write_json, writing
from ..evaluation.logs import read_statistics
from ..steps import Command, GridRun, Line, command_text, how_it_ended, running
from ..table import format_table
from .execution import duration

# submitit starts python -m, for which a yaml.py or torch.py of the working folder would come first
SAFE_PATH = ("PYTHONSAFEPATH", "1")
FOLDER = "jobs"  # beside the runs: what submitit writes, and the logs of the jobs
LAST_LINES = 500  # of a log; a continued training first prints some hundred other lines
PYTHON = f"{shlex.quote(sys.executable)} -P"  # also where sbatch does not hand the environment on


@dataclass(frozen=True)
class JobCommands:
    """Commands in a job, one after the other; at a time limit they begin again, and continue."""

    lines: tuple[Line, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    to_the_end: bool = False  # also after a failure
    ends_on_request: bool = False  # by SIGTERM, which submitit ignores in a job

    def __call__(self) -> None:
        if self.ends_on_request:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        os.environ.update(self.environment)
        failures = []
        for line in self.lines:
            code = _run_in_job(line)
            if code:
                failures.append(f"{command_text(line.words, line.output)} {how_it_ended(code)}")
            if failures and not self.to_the_end:
                break
        if failures:
            raise RuntimeError("; ".join(failures))

    def checkpoint(self) -> Any:
        """Returns what submitit submits again."""
        return submitit().helpers.DelayedSubmission(self)


def _run_in_job(line: Line) -> int:
    with ExitStack() as stack:
        out = None
        if line.output:
            Path(line.output).parent.mkdir(parents=True, exist_ok=True)
            out = stack.enter_context(writing(line.output))
        return stack.enter_context(running(line.words, stdout=out)).wait()


def lines_of(commands: Sequence[Command]) -> tuple[Line, ...]:
    """Returns the command lines of commands, for processes of their own."""
    return tuple(command.line for command in commands)


def submitit() -> Any:
    """Returns the package that starts jobs.

    Raises:
        UserError: it is not installed
    """
    try:
        import submitit
    except ModuleNotFoundError as error:
        raise UserError(
            "--jobs, --on: submitit is not installed: pip install 'dc_nmt_plugin[slurm]'"
        ) from error
    return submitit


# -- where the job of a run is -----------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """The job of a run."""

    on: Literal["here", "slurm"]
    job: str  # its number: of the process, or Slurm's
    log: str  # relative to the working folder


def folder_of(run: GridRun) -> Path:
    return run.folder.parent / FOLDER


def file_of(run: GridRun) -> Path:
    """Returns the file that says where the job of a run is."""
    return folder_of(run) / f"{run.folder.name}.json"


def remember(run: GridRun, place: Literal["here", "slurm"], job: Any) -> None:
    """Writes where the job of a run is."""
    log = os.path.relpath(job.paths.stdout)
    write_json(file_of(run), asdict(Job(place, str(job.job_id), log)))


def job_of(run: GridRun) -> Job | None:
    """Returns the job of a run, or None: its next job also replaces a damaged file."""
    if not file_of(run).is_file():
        return None
    try:
        return read_json(file_of(run), Job)
    except UserError:
        return None


# -- how far it is -----------------------------------------------------------------------------


def status_table(runs: Sequence[GridRun]) -> str:
    """Returns a table of the runs: state, updates, log."""
    rows = []
    for run in runs:
        job = job_of(run)
        state = _state(run, job)
        # a program that outlived dc-nmt has written no log
        whole = f"{run.updates:,} of {run.updates:,} updates"
        made = whole if state == "done" and run.updates else updates_text(run)
        rows.append([run.name, state, made, job.log if job else ""])
    return format_table(["run", "state", "training", "log"], rows)


def _state(run: GridRun, job: Job | None) -> str:
    try:
        if run.is_finished():
            return "done"
    except UserError:
        return "has another run"
    if is_locked(run.folder / ".lock"):
        return "running"
    if job is None:
        return "not started"
    if job.on == "slurm":
        return state_on_slurm(run, job)
    return "starting" if _is_alive(job.job) else "failed or stopped"


def state_on_slurm(run: GridRun, job: Job) -> str:
    """Returns the state of a job on Slurm: waiting, running or failed."""
    slurm_job = submitit().SlurmJob(folder_of(run), job.job)
    state = str(slurm_job.watcher.get_state(job.job, mode="force")).partition(" ")[0]
    known = {"PENDING": "waiting", "REQUEUED": "waiting", "RUNNING": "running"}
    return known.get(state, "waiting" if state == "UNKNOWN" else "failed")


def _is_alive(process: str) -> bool:
    """Returns True if a program of submitit has this number; another one may have it later."""
    try:
        words = Path(f"/proc/{int(process)}/cmdline").read_bytes()
    except (OSError, ValueError):
        return False
    return b"submitit" in words


def updates_text(run: GridRun) -> str:
    """Returns the updates that are made, and how long the others take at the speed of the last."""
    times = _last_updates(run)
    made, wall = times[-1] if times else (0, 0)
    text = f"{made:,} of {run.updates:,} updates"
    if made < run.updates and times and wall > times[0][1]:
        speed = (made - times[0][0]) / (wall - times[0][1])
        text += f", {duration((run.updates - made) / speed)} left"
    return text


def _last_updates(run: GridRun) -> list[tuple[int, int]]:
    """Returns the number and the time, in seconds, of the last updates in the log of a training."""
    log = run.folder / "train.log"
    if not log.is_file():
        return []
    with open(log, encoding="utf-8", errors="replace") as lines:
        updates = [
            each
            for each in read_statistics(deque(lines, maxlen=LAST_LINES))
            if each.split == "train"
        ]
    walls = [(each.updates, str(each.values.get("wall"))) for each in updates]
    return [(number, int(wall)) for number, wall in walls if wall.isdecimal()]  # or it is damaged
