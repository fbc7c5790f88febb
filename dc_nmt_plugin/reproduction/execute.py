"""Runs the jobs of a plan here, or submits them to Slurm."""

from __future__ import annotations

import contextlib
import importlib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError, UserError
from ..files import writing
from ..flags import setting_name
from ..recipes import launch
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
            with (
                writing(job.output) as out,
                contextlib.redirect_stdout(out),
            ):
                code = main(list(job.words[1:]))
        if code:
            raise UserError(f"failed: {job}")


def sbatch_options(pairs: Sequence[str]) -> dict[str, str]:
    """Returns options of sbatch, from ``NAME=VALUE``.

    Raises:
        UserError: another form, or an invalid number of GPUs
    """
    given = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise UsageError(f"--sbatch: {pair!r} is not NAME=VALUE")
        given[setting_name(name)] = value
    text = given.get("gpus_per_node", "1")
    if not _count(text).isdecimal():
        raise UsageError(f"--sbatch: gpus-per-node={text} is no number of GPUs such as 4 or a100:4")
    return given


def submit(
    jobs: Sequence[Job], folder: Path, cluster: str, options: Mapping[str, str]
) -> list[tuple[Job, str]]:
    """Submits the jobs of a plan to a cluster, with their dependencies.

    Args:
        jobs: the plan
        folder: of submitit's files and logs
        cluster: ``slurm``, or ``local``: processes of this machine that submitit starts
        options: of sbatch, in place of the defaults, from :func:`sbatch_options`

    Returns:
        each job and its number on the cluster

    Raises:
        UserError: submitit or Slurm is missing or refuses a job, or a job of this machine failed
    """
    try:
        import submitit
        from submitit.core.utils import (
            CommandFunction,
            FailedSubmissionError,
            UncompletedJobError,
        )
    except ImportError as error:
        raise UserError("--on slurm needs submitit: pip install 'dc_nmt_plugin[slurm]'") from error
    folder.mkdir(parents=True, exist_ok=True)
    kind: Any = submitit.SlurmExecutor if cluster == "slurm" else submitit.LocalExecutor
    try:
        executor = kind(folder=folder)
    except RuntimeError as error:
        raise UserError(f"--on {cluster}: {error}") from error
    numbers: list[str] = []
    for job in jobs:
        before = [numbers[place] for place in job.after]
        gpus = _gpus(job)
        words = [sys.executable, "-m", "dc_nmt_plugin", *job.words]
        if cluster == "slurm":
            if _is_training(job) and "gpus_per_node" in options:
                gpus = int(_count(options["gpus_per_node"]))
            executor.update_parameters(**_parameters(job, before, options))
        else:
            gpus = min(gpus, launch.visible_gpus())
            # without a number submitit hides all GPUs; with one it shows the machine's first
            executor.update_parameters(timeout_min=60 * (job.hours or HOURS), gpus_per_node=gpus)
            if shown := os.environ.get("CUDA_VISIBLE_DEVICES"):
                words = ["env", f"CUDA_VISIBLE_DEVICES={shown}", *words]
        words += ["--gpus", str(gpus), "--launcher", "fairseq"] if _is_training(job) else []
        if job.output:
            # only a complete file gets the name
            part, to = (shlex.quote(f"{job.output}{end}") for end in (".part", ""))
            words = ["bash", "-c", f"{shlex.join(words)} > {part} && mv {part} {to}"]
        try:
            submitted = executor.submit(CommandFunction(words, verbose=True))
        except (UncompletedJobError, FailedSubmissionError) as error:
            queued = f" (in the queue already: {', '.join(numbers)})" if numbers else ""
            reason = " ".join(str(error).split())
            raise UserError(f"--on {cluster}: {reason}: not submitted{queued}: {job}") from error
        numbers.append(str(submitted.job_id))
        if cluster != "slurm":
            try:
                submitted.result()  # without a queue, nothing else keeps the order
            except UncompletedJobError as error:
                raise UserError(f"failed: {job}; its log is {submitted.paths.stderr}") from error
    return list(zip(jobs, numbers, strict=True))


def _parameters(job: Job, before: Sequence[str], options: Mapping[str, str]) -> dict[str, Any]:
    own: dict[str, Any] = {
        "job_name": f"dc-nmt-{job.kind}",
        "nodes": 1,
        "time": 60 * (job.hours or HOURS),
    }
    if job.kind != "text":
        own["gpus_per_node"] = _gpus(job)
    given = dict(options)
    if "cpus_per_gpu" not in given:  # Slurm takes one of the two
        own["cpus_per_task"] = CPUS
    more: dict[str, Any] = {}
    for name in ("time", "cpus_per_task", "gpus_per_node"):
        if text := given.pop(name, ""):  # Slurm's own forms too: 24:00:00, a100:2
            more[name] = int(text) if text.isdecimal() else text
    own.update({name: given.pop(name) for name in ("partition", "account", "mem") if name in given})
    if before:
        given["dependency"] = f"afterok:{':'.join(before)}"
    parameters = {**own, **more, "additional_parameters": given}
    if cpus := parameters.get("cpus_per_task"):
        # since Slurm 22.05, srun does not inherit it from the job
        parameters["srun_args"] = [f"--cpus-per-task={cpus}"]
    return parameters


def _gpus(job: Job) -> int:
    return 0 if job.kind == "text" else job.gpus or 1


def _count(text: str) -> str:
    """Returns the number in ``4`` or ``a100:4``."""
    return text.rpartition(":")[2]


def _is_training(job: Job) -> bool:
    return job.kind == "training"
