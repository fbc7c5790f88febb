"""Many runs of one command: one after the other, side by side, or on a cluster.

Side by side and on a cluster, each run is a command line of dc-nmt of its own, which submitit
starts, watches and, at a time limit, starts again.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...errors import UserError, counted, notify
from ...files import is_locked, load_json, write_json, writing
from ...machine import usable_cpus
from .. import run_command
from ..evaluation.logs import parse_statistics
from ..steps import Command, Grid, GridRun, Line, command_text, running
from ..table import format_table
from .execution import Progress, duration, execute
from .plan import visible_gpus

JOBS = "jobs"  # folder beside the runs: what submitit writes, and the logs of the jobs
LAST_LINES = 500  # of a log; a training that goes on begins with some hundred others
POLL, SHOW = 0.5, 30  # seconds between two looks at the jobs, and between two lines about them
PYTHON = f"{shlex.quote(sys.executable)} -P"  # also where sbatch does not hand the environment on
A_DAY, NO_LIMIT = 60 * 24, 60 * 24 * 365  # minutes


@dataclass(frozen=True)
class GridOptions:
    """Options of commands that may have many runs."""

    jobs: str | None = None  # number of runs at the same time, or "gpus"
    on: str | None = None  # "slurm", or this machine
    partition: str | None = None  # on Slurm
    minutes: int | None = None
    sbatch: tuple[str, ...] = ()  # NAME=VALUE, further words for sbatch
    status: bool = False


@dataclass(frozen=True)
class JobCommands:
    """Commands in a job, one after the other; at a time limit they begin again, and continue."""

    lines: tuple[Line, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    to_the_end: bool = False  # also after a failure

    def __call__(self) -> None:
        os.environ.update(self.environment)
        failures = []
        for line in self.lines:
            code = _run_in_job(line)
            if code:
                failures.append(f"{command_text(line.words, line.output)} ended with status {code}")
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


def submitit() -> Any:
    try:
        import submitit
    except ModuleNotFoundError as error:
        raise UserError(
            "--jobs, --on: submitit is not installed: pip install 'dc_nmt_plugin[slurm]'"
        ) from error
    # submitit starts python -m, which would import a yaml.py or torch.py of the working folder
    os.environ["PYTHONSAFEPATH"] = "1"
    return submitit


def carry_out(grid: Grid, options: GridOptions, gpus: int | None) -> None:
    """Does the runs of a grid as the options ask for.

    Args:
        grid: of a command
        options: of the command
        gpus: of a run, as the user gave it

    Raises:
        UserError: submitit is not installed, or something failed
    """
    if options.status:
        print(status_table(grid.runs))
        return
    progress = Progress()
    if options.on == "slurm":
        left = _unfinished(grid.runs, progress)
        if left:
            cluster = _cluster(options, gpus)
            lines = submit(replace(grid, runs=left), cluster)
            print(*_useless(left, cluster.gpus), *lines, sep="\n")
        return
    execute(grid.texts, progress)
    if options.jobs:
        visible = visible_gpus() if gpus is None else gpus
        jobs = max(1, visible) if options.jobs == "gpus" else int(options.jobs)
        failed = run_side_by_side(_unfinished(grid.runs, progress), jobs, visible, progress)
    else:
        failed = run_here(grid.runs, progress)
    _finish(grid, failed, progress)


def _unfinished(runs: Sequence[GridRun], progress: Progress) -> list[GridRun]:
    left = [run for run in runs if not run.is_finished()]
    for run in runs:
        if run not in left:
            progress.say(f"{run.name}: done before")
    return left


def _finish(grid: Grid, failed: Mapping[str, str], progress: Progress) -> None:
    """Runs the analyses and prints the table of the runs that did not fail.

    Raises:
        UserError: names what failed
    """
    reasons = [f"{name}: {reason}" for name, reason in failed.items()]
    missing = [str(run.folder) for run in grid.runs if run.name in failed]
    for command in grid.analyses:
        reasons += _analyse(command, missing, progress)
    if grid.table is not None and (not missing or len(missing) < len(grid.runs)):
        print()
        try:
            run_command(grid.table.words)
        except UserError as error:
            reasons.append(f"{grid.table.words[0]}: {error}")
    if reasons:
        what = "failed:"
        if failed:
            what = f"{len(failed)} of {counted(len(grid.runs), 'run')} failed:"
        raise UserError("\n  ".join([what, *reasons]))


def _analyse(command: Command, missing: Sequence[str], progress: Progress) -> list[str]:
    """Runs an analysis, unless a run in it is missing; returns why it has no result."""
    text = command_text(command.line.words, command.output)
    words = [word.partition(":")[0] for word in command.words]
    if any(folder in words for folder in missing):
        return [f"left out: {text}"]
    try:
        execute([command], progress)
    except UserError as error:
        return [f"{text}: {error}"]
    return []


def _cluster(options: GridOptions, gpus: int | None) -> Cluster:
    further = dict(word.split("=", 1) for word in options.sbatch)
    number = 1 if gpus is None else gpus
    return Cluster(options.minutes or A_DAY, number, options.partition, further)


def _useless(runs: Sequence[GridRun], gpus: int) -> list[str]:
    """Returns a line if a run has more GPUs than its batch fills."""
    filled = max(run.most_gpus for run in runs)
    if gpus <= filled:
        return []
    return [f"--gpus {gpus}: a batch fills {filled}; more do not make a run faster"]


# -- one after the other -----------------------------------------------------------------------


def run_here(runs: Sequence[GridRun], progress: Progress) -> dict[str, str]:
    """Carries the runs out, one after the other; a failure does not stop the others.

    Returns:
        name of a run that failed → why

    Raises:
        UserError: the only one failed
    """
    failed = {}
    for run in runs:
        try:
            execute(run.commands, progress)
        except (UserError, OSError) as error:
            if len(runs) == 1:
                raise
            notify(*f"{run.name} failed: {error}".split("\n"))
            failed[run.name] = str(error)
    return failed


# -- side by side on this machine --------------------------------------------------------------


def run_side_by_side(
    runs: Sequence[GridRun], jobs: int, gpus: int, progress: Progress
) -> dict[str, str]:
    """Runs the commands of a grid, `jobs` at a time, each with its own GPU or CPU threads.

    Returns:
        name of a run that failed → its log
    """
    waiting, failed = deque(runs), dict[str, str]()
    busy: dict[int, tuple[GridRun, Any]] = {}  # slot → its run and job
    shown = time.monotonic()
    try:
        while waiting or busy:
            free = [slot for slot in range(jobs) if slot not in busy]
            for slot in free[: len(waiting)]:
                run = waiting.popleft()
                busy[slot] = run, _start(run, slot, jobs, gpus)
                progress.say(f"{run.name}: started, {len(waiting)} waiting")
            time.sleep(POLL)
            ended = {slot for slot, (_, job) in busy.items() if job.done()}
            failed |= _end([busy.pop(slot) for slot in sorted(ended)], progress)
            if time.monotonic() - shown > SHOW:
                shown = time.monotonic()
                progress.say("; ".join(map(_updates_of_job, busy.values())))
    except BaseException:
        for _, job in busy.values():
            job.cancel()
        raise
    return failed


def _updates_of_job(job: tuple[GridRun, Any]) -> str:
    return f"{job[0].name}: {_updates(job[0])}"


def _end(ended: Sequence[tuple[GridRun, Any]], progress: Progress) -> dict[str, str]:
    """Returns name → log of the runs that failed."""
    failed = {}
    for run, job in ended:
        if job.exception() is not None:
            failed[run.name] = os.path.relpath(job.paths.stdout)
        progress.say(f"{run.name}: {'failed' if run.name in failed else 'done'}")
    return failed


def _start(run: GridRun, slot: int, jobs: int, gpus: int) -> Any:
    executor = submitit().LocalExecutor(jobs_folder(run) / run.folder.name, python=PYTHON)
    executor.update_parameters(timeout_min=NO_LIMIT, stderr_to_stdout=True)
    environment = {}
    if gpus:
        executor.update_parameters(gpus_per_node=1, visible_gpus=(slot % gpus,))
    else:
        environment["OMP_NUM_THREADS"] = str(max(1, usable_cpus() // jobs))
    job = executor.submit(JobCommands(_lines(run.commands), environment))
    _remember(run, "here", job)
    return job


def _lines(commands: Sequence[Command]) -> tuple[Line, ...]:
    return tuple(command.line for command in commands)


def _updates(run: GridRun) -> str:
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
    times = []
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in deque(lines, maxlen=LAST_LINES):
            kind, values = parse_statistics(line.rstrip("\n")) or ("", {})
            if kind == "train_inner":
                times.append((int(values["num_updates"]), int(values["wall"])))
    return times


def jobs_folder(run: GridRun) -> Path:
    return run.folder.parent / JOBS


# -- on Slurm ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cluster:
    """What a job on Slurm gets."""

    minutes: int
    gpus: int
    partition: str | None = None
    further: Mapping[str, str] = field(default_factory=dict)  # words for sbatch, without dashes


def submit(grid: Grid, cluster: Cluster) -> list[str]:
    """Submits the text, then an array with a job for each run, then the analyses and the table.

    Args:
        grid: with the runs that are not finished
        cluster: what a job gets

    Returns:
        lines that say what was submitted
    """
    runs = grid.runs
    folder = jobs_folder(runs[0])
    executor = submitit().SlurmExecutor(folder, max_num_timeout=10**6, python=PYTHON)
    common: dict[str, Any] = {"time": cluster.minutes, "stderr_to_stdout": True}
    if cluster.partition:
        common["partition"] = cluster.partition
    if cluster.further:
        common["additional_parameters"] = dict(cluster.further)
    lines = []
    after: dict[str, str] = {}
    if grid.texts:
        executor.update_parameters(**common, job_name="dc-nmt-text")
        job = executor.submit(JobCommands(_lines(grid.texts)))
        after = {"dependency": f"afterok:{job.job_id}"}
        lines.append(f"{job.job_id}: the text")
    gpus = {"gpus_per_node": cluster.gpus} if cluster.gpus else {}
    executor.update_parameters(**common, **gpus, **after, job_name="dc-nmt")
    with executor.batch():
        jobs = [executor.submit(JobCommands(_lines(run.commands))) for run in runs]
    for run, job in zip(runs, jobs, strict=True):
        _remember(run, "slurm", job)
        lines.append(f"{job.job_id}: {run.name}")
    if grid.table is not None:
        last = submitit().SlurmExecutor(folder, max_num_timeout=10**6, python=PYTHON)
        ids = ":".join(dict.fromkeys(job.job_id.partition("_")[0] for job in jobs))
        last.update_parameters(**common, dependency=f"afterany:{ids}", job_name="dc-nmt-table")
        commands = _lines([*grid.analyses, grid.table])
        job = last.submit(JobCommands(commands, to_the_end=True))
        lines.append(f"{job.job_id}: the table, in {job.paths.stdout}")
    return lines


# -- what is running, waiting, failed ----------------------------------------------------------


def _remember(run: GridRun, place: str, job: Any) -> None:
    path = jobs_folder(run) / f"{run.folder.name}.json"
    log = os.path.relpath(job.paths.stdout)
    write_json(path, {"on": place, "job": str(job.job_id), "log": log})


def status_table(runs: Sequence[GridRun]) -> str:
    """Returns a table of the runs: state, updates, log."""
    rows = []
    for run in runs:
        path = jobs_folder(run) / f"{run.folder.name}.json"
        job = load_json(path) if path.is_file() else {}
        rows.append([run.name, _state(run, job), _updates(run), job.get("log", "")])
    return format_table(["run", "state", "training", "log"], rows)


def _state(run: GridRun, job: Mapping[str, str]) -> str:
    try:
        if run.is_finished():
            return "done"
    except UserError:
        return "has another run"
    if is_locked(run.folder / ".lock"):
        return "running"
    if not job:
        return "not started"
    if job["on"] == "slurm":
        slurm_job = submitit().SlurmJob(jobs_folder(run), job["job"])
        state = str(slurm_job.watcher.get_state(job["job"], mode="force")).partition(" ")[0]
        known = {"PENDING": "waiting", "REQUEUED": "waiting", "RUNNING": "running"}
        return known.get(state, "waiting" if state == "UNKNOWN" else "failed")
    return "failed or stopped"
