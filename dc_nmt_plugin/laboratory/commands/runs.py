"""Options of commands that have one run or many, and what the commands do with them."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import UsageError, UserError
from ...flags import USER_DIR_VARIABLE, flag_name
from .parser import number, numbers, values_of

if TYPE_CHECKING:
    from ..recipes.plan import TrainPlan
    from ..steps import Command, Grid

HELP = {
    "--seeds": "several random seeds, such as 1,2,3: a run with each; one that fails does not stop "
    "the others",
    "--jobs": "runs at the same time, each with its own GPU or threads of the CPU: a number, or "
    "gpus for one on each",
    "--gpus": "number of GPUs; default: all; 0: the CPU",
    "--on": "slurm: submit an array with a job for each run, one GPU each unless --gpus is given; "
    "a job that reaches its time limit is started again, and continues",
    "--partition": "of Slurm",
    "--time": "limit of a job on Slurm: minutes, HOURS:MM:SS or DAYS-HOURS; default: a day",
    "--sbatch": "further words for sbatch, such as account=x; may be repeated",
    "--status": "print which runs are done, running, waiting or failed, and their logs; run none",
    "--estimate": "train half a minute with the prepared text, then print the hours of the whole",
}


A_YEAR = 365 * 24 * 60  # minutes


def _jobs(text: str) -> str:
    return text if text == "gpus" else str(number(1)(text))


def _minutes(text: str) -> int:
    """Reads a time as Slurm has it: MINUTES, MINUTES:SS, HOURS:MM:SS, DAYS-HOURS[:MM[:SS]]."""
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 90, 1:30:00 or 2-12")
    days, first, second, third = match.groups()
    if days is not None or third is not None:  # the first number is of hours
        minutes = int(days or 0) * 24 * 60 + int(first) * 60 + int(second or 0)
    else:
        minutes = int(first)
    if not 0 < minutes <= A_YEAR:
        raise argparse.ArgumentTypeError(f"{text!r} is not between a minute and a year")
    return minutes


def _partitions(text: str) -> str:
    """Reads names, which commas may separate."""
    if not re.fullmatch(r"[\w.,-]+", text):
        raise argparse.ArgumentTypeError(f"{text!r}: use letters, digits and . , - _")
    return text


def _assignment(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z-]*=.+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, such as account=x")
    return text


def add_grid(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=numbers, metavar="LIST", help=HELP["--seeds"])
    parser.add_argument("--jobs", type=_jobs, metavar="N", help=HELP["--jobs"])
    parser.add_argument("--gpus", type=number(0), metavar="N", help=HELP["--gpus"])
    parser.add_argument("--on", choices=["slurm"], help=HELP["--on"])
    parser.add_argument("--partition", type=_partitions, metavar="NAME", help=HELP["--partition"])
    parser.add_argument("--time", type=_minutes, dest="minutes", metavar="T", help=HELP["--time"])
    parser.add_argument(
        "--sbatch", action="append", type=_assignment, metavar="NAME=VALUE", help=HELP["--sbatch"]
    )
    parser.add_argument("--status", action="store_true", help=HELP["--status"])


def add_estimate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--estimate", action="store_true", help=HELP["--estimate"])


def print_script(commands: Sequence[Command], printed_by: Sequence[str]) -> None:
    """Prints commands as a shell script, for --dry-run."""
    from ..recipes.script import script

    print(script(commands, ["dc-nmt", *printed_by]))


def seeds_of(args: argparse.Namespace) -> list[int]:
    """Returns the seeds of a grid, or the one of ``--seed``."""
    if args.seeds is None:
        return [args.seed]
    if args.seed != 1:
        raise UsageError(f"--seed {args.seed}: contradicts --seeds; leave one of them out")
    if args.name and len(args.seeds) > 1:
        raise UsageError(f"--name: {args.name!r} is for one run; leave it out, or give one seed")
    return list(args.seeds)


def _refuse_taken_flags(args: argparse.Namespace) -> None:
    """Refuses mechanisms of the user's own whose flags would not get through to fairseq-train."""
    from ...modules.mechanisms import mechanisms

    for mechanism in mechanisms():
        for setting in map(mechanism.setting, mechanism.options):
            if setting in vars(args):
                raise UserError(
                    f"{flag_name(setting)}: is an option of dc-nmt, which would keep it from "
                    f"{mechanism.name!r} in {mechanism.folder}; choose another name there."
                )


def plan_of(args: argparse.Namespace, flags: Sequence[str], arch: str, seed: int) -> TrainPlan:
    """Plans the training of one architecture; refuses flags that this machine cannot follow."""
    from ..recipes.plan import plan_training, visible_gpus
    from ..recipes.planned import Experiment, TrainOptions

    if USER_DIR_VARIABLE in os.environ:  # which --user-dir sets, too
        _refuse_taken_flags(args)
    elsewhere = args.dry_run or args.on is not None
    if not elsewhere and (args.gpus or 0) > visible_gpus():
        raise UsageError(f"--gpus {args.gpus}: this machine has {visible_gpus()}")
    experiment = values_of(Experiment, args, arch=arch, seed=seed)
    gpus = 1 if args.jobs and args.gpus else args.gpus  # each job has a GPU of its own
    options = values_of(TrainOptions, args, flags=tuple(flags), gpus=gpus)
    planned = plan_training(experiment, options)
    if flags:
        planned.check_flags(elsewhere=elsewhere)
    return planned


def do_runs(
    args: argparse.Namespace,
    printed_by: Sequence[str],
    grid: Grid,
    training_runs: Sequence[TrainPlan] = (),
    *,
    short_script: bool = False,
) -> None:
    """Does the runs of a command, or what its options ask for instead.

    Args:
        args: with the options of :func:`add_grid`
        printed_by: the command that was given, with its arguments
        grid: of the command
        training_runs: of the grid
        short_script: --dry-run prints the commands of dc-nmt, not their steps
    """
    _check_grid(args)
    if args.dry_run:
        commands = grid.commands
        if short_script:
            commands = [replace(command, stage=None) for command in commands]
        print_script(commands, printed_by)
        return
    if getattr(args, "estimate", False):
        from ..recipes.estimate import estimate
        from ..recipes.execution import Progress

        print(*estimate(training_runs, args.jobs, Progress()), sep="\n")
        return
    from ..recipes.grid import GridOptions, carry_out

    carry_out(grid, values_of(GridOptions, args, sbatch=tuple(args.sbatch or ())), args.gpus)


INSTEAD_OF_RUNS = {  # options → what they do, and the options that they do not go with
    "estimate": ("trains a little on this machine", ("dry_run", "on", "status")),
    "dry_run": ("prints a script", ("on", "status", "jobs")),
}


def _check_grid(args: argparse.Namespace) -> None:
    """Refuses options of :func:`add_grid` that would do nothing."""
    for option, (what_it_does, others) in INSTEAD_OF_RUNS.items():
        for name in others:
            if getattr(args, option, False) and getattr(args, name):
                problem = f"{what_it_does}; leave out {flag_name(name)}"
                raise UsageError(f"{flag_name(option)}: {problem}")
    for name in ("partition", "minutes", "sbatch"):
        if getattr(args, name) and args.on != "slurm":
            flag = "time" if name == "minutes" else name
            raise UsageError(f"--{flag}: goes with --on slurm")
    if args.jobs and args.on:
        raise UsageError(f"--jobs {args.jobs}: is for this machine; leave it out, or --on")


def table_command(folders: Sequence[object], seeds: Sequence[int], subset: str = "test") -> Command:
    """Returns the command that prints the results of runs that are finished.

    Args:
        folders: of the runs
        seeds: of the runs
        subset: that they translated
    """
    from ..steps import Command

    words = ["results", *map(str, folders), "--finished"]
    words += ["--over-seeds"] if len(seeds) > 1 else []
    words += ["--subset", subset] if subset != "test" else []
    return Command(tuple(words))
