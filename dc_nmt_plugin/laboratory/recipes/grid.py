"""Many runs of one command: one after the other, side by side, or on Slurm; then their table."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...errors import UserError, counted, notify
from .. import has_study, run_command
from ..steps import Command, Grid, GridRun, command_text
from .execution import Progress, execute
from .jobs import status_table
from .plan import visible_gpus
from .side_by_side import run_side_by_side
from .slurm import A_DAY, Cluster, submit


@dataclass(frozen=True)
class GridOptions:
    """Options of commands that may have many runs."""

    jobs: str | None = None  # number of runs at the same time, or "gpus"
    on: str | None = None  # "slurm", or this machine
    partition: str | None = None  # on Slurm
    minutes: int | None = None
    sbatch: tuple[str, ...] = ()  # NAME=VALUE, further words for sbatch
    status: bool = False


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
        further = dict(word.split("=", 1) for word in options.sbatch)
        cluster = Cluster(
            options.minutes or A_DAY, 1 if gpus is None else gpus, options.partition, further
        )
        if left:
            print(*submit(replace(grid, runs=left), cluster), sep="\n")
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
            if has_study():
                page = str(grid.runs[0].folder.parent / "page")
                words = ["dc-nmt", *grid.table.words, "--page", page]
                notify(f"for a page in the browser: {shlex.join(words)}")
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
