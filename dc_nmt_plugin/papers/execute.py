"""Runs the jobs of a plan here, or submits them to Slurm."""

from __future__ import annotations

import contextlib
import importlib
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import UsageError, UserError
from ..files import writing
from .jobs import Job

HOURS = 24
CPUS = 8  # as scripts/train.slurm asks for


def run_here(jobs: Sequence[Job]) -> None:
    """Runs the jobs of a plan, one after the other.

    Skips finished texts, training runs and evaluations; always repeats analyses.

    Raises:
        UserError: a job failed
    """
    for number, job in enumerate(jobs, 1):
        print(f"[{number}/{len(jobs)}] {job}", flush=True)
        main = importlib.import_module(f"dc_nmt_plugin.commands.{job.words[0]}").main
        if job.output is None:
            code = main(list(job.words[1:]))
        else:
            job.output.parent.mkdir(parents=True, exist_ok=True)
            with writing(job.output) as out, contextlib.redirect_stdout(out):
                code = main(list(job.words[1:]))
        if code:
            raise UserError(f"failed: {job}")


def sbatch_options(pairs: Sequence[str]) -> dict[str, str]:
    """Returns options of sbatch without dashes, from ``NAME=VALUE``.

    Raises:
        UserError: another form, or an invalid number of GPUs
    """
    options = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if not (name and value):
            raise UsageError(f"--sbatch: {pair!r} is not NAME=VALUE")
        options[name.strip("-").replace("_", "-")] = value
    gpus = options.get("gpus-per-node", "1")
    if not gpus.rpartition(":")[2].isdecimal():
        raise UsageError(f"--sbatch: gpus-per-node={gpus} is no number of GPUs such as 4 or a100:4")
    return options


def submit(jobs: Sequence[Job], folder: Path, options: Mapping[str, str]) -> list[str]:
    """Submits the jobs of a plan to Slurm, with their dependencies; returns their numbers.

    Args:
        jobs: the plan
        folder: of the logs
        options: of sbatch, in place of the defaults, from :func:`sbatch_options`

    Raises:
        UserError: Slurm is missing or refuses a job
    """
    folder.mkdir(parents=True, exist_ok=True)
    numbers: list[str] = []
    for job in jobs:
        chosen = {
            "job-name": f"dc-nmt-{job.kind}",
            "output": f"{folder}/%j.log",
            "nodes": "1",
            "time": str(60 * (job.hours or HOURS)),  # minutes
        }
        if "cpus-per-gpu" not in options:  # Slurm takes one of the two
            chosen["cpus-per-task"] = str(CPUS)
        if job.kind != "text":
            chosen["gpus-per-node"] = str(job.gpus or 1)
        chosen.update(options)
        if job.after:
            chosen["dependency"] = "afterok:" + ":".join(numbers[place] for place in job.after)
        words = ["sbatch", "--parsable", *(f"--{name}={value}" for name, value in chosen.items())]
        words.append(f"--wrap={_command(job, chosen)}")
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise UserError("--on slurm: this machine has no sbatch") from error
        if done.returncode:
            queued = f" (in the queue already: {', '.join(numbers)})" if numbers else ""
            reason = " ".join(done.stderr.split())
            raise UserError(f"--on slurm: {reason}: not submitted{queued}: {job}")
        numbers.append(done.stdout.strip().partition(";")[0])  # behind it: the cluster's name
    return numbers


def _command(job: Job, options: Mapping[str, str]) -> str:
    words = [sys.executable, "-m", "dc_nmt_plugin", *job.words]
    if job.kind == "training":
        gpus = options["gpus-per-node"].rpartition(":")[2]  # of 4 or a100:4
        words += ["--gpus", gpus, "--launcher", "fairseq"]
    command = shlex.join(words)
    if job.output:
        # only a complete file gets the name
        part, to = (shlex.quote(f"{job.output}{end}") for end in (".part", ""))
        command += f" > {part} && mv {part} {to}"
    return command
