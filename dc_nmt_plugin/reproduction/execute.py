"""A plan's jobs done here, or given to Slurm."""

from __future__ import annotations

import contextlib
import importlib
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..files import replacing
from .plan import Job

HOURS = 24


def run_here(jobs: Sequence[Job]) -> None:
    """Do a plan's jobs, one after the other; what is done is not done again.

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
                replacing(job.output) as temporary,
                open(temporary, "w", encoding="utf-8") as out,
                contextlib.redirect_stdout(out),
            ):
                code = main(list(job.words[1:]))
        if code:
            raise UserError(f"failed: {job}")


def submit(
    jobs: Sequence[Job], folder: Path, cluster: str, options: Mapping[str, str]
) -> list[tuple[Job, str]]:
    """Give a plan's jobs to a cluster, dependencies kept.

    Args:
        jobs: the plan
        folder: of submitit's files and logs
        cluster: ``slurm``, or ``local``: processes of this machine that submitit starts
        options: of sbatch, in place of the defaults, such as ``partition``

    Returns:
        each job and its number on the cluster

    Raises:
        UserError: submitit or Slurm is missing
    """
    try:
        import submitit
        from submitit.helpers import CommandFunction
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
        if cluster == "slurm":
            executor.update_parameters(**_parameters(job, before, options))
        else:
            executor.update_parameters(timeout_min=60 * (job.hours or HOURS))
        words = [sys.executable, "-m", "dc_nmt_plugin", *job.words]
        words += ["--gpus", str(_gpus(job)), "--launcher", "fairseq"] if _is_training(job) else []
        if job.output:
            words = ["bash", "-c", f"{shlex.join(words)} > {shlex.quote(str(job.output))}"]
        submitted = executor.submit(CommandFunction(words, verbose=True))
        numbers.append(str(submitted.job_id))
        if cluster != "slurm":
            submitted.result()  # no queue of its own keeps the order
    return list(zip(jobs, numbers, strict=True))


def _parameters(job: Job, before: Sequence[str], options: Mapping[str, str]) -> dict[str, Any]:
    own: dict[str, Any] = {
        "job_name": f"dc-nmt-{job.kind}",
        "nodes": 1,
        "time": 60 * (job.hours or HOURS),
    }
    if job.kind != "text":
        own["gpus_per_node"] = _gpus(job)
    given = {name.replace("-", "_"): value for name, value in options.items()}
    more: dict[str, Any] = {}
    for name in ("time", "cpus_per_task", "gpus_per_node"):
        if text := given.pop(name, ""):  # Slurm's own forms too: 24:00:00, a100:2
            more[name] = int(text) if text.isdigit() else text
    own.update({name: given.pop(name) for name in ("partition", "account", "mem") if name in given})
    if before:
        given["dependency"] = f"afterok:{':'.join(before)}"
    return {**own, **more, "additional_parameters": given}


def _gpus(job: Job) -> int:
    return job.gpus or 1


def _is_training(job: Job) -> bool:
    return job.kind == "training"
