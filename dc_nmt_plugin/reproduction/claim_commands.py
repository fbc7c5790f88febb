"""The commands that measure a claim."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from ..papers.document import Subject
from ..recipes.experiment import Experiment
from ..recipes.options import RunOptions
from ..recipes.run_plan import plan_run
from .claims import HOME, KEPT, TASK, Decided, pairs_of, training
from .system import NeededDecoding


def commands_of(one: Decided, home: Path = HOME) -> list[str]:
    """Returns the commands that measure a claim: again, or what is missing."""
    claim = one.claim
    if claim.by == "params":
        items = dict.fromkeys(f"{cell.document}, {cell.item}" for cell, _ in claim.evidence)
        return [shlex.join(["dc-nmt", "params", "--item", item]) for item in items]
    subjects = list(dict.fromkeys([*claim.ours, *claim.than]))
    if claim.by in ("training", "decoding"):
        mode = {"training": "train", "decoding": "decode"}[claim.by]
        archs = [f"{subject.words[0]}_tiny" for subject in subjects]
        return [shlex.join(["dc-nmt", "bench", *archs, "--mode", mode])]
    if claim.by == "score" and all(one.seen):
        names = dict.fromkeys(name for pair in pairs_of(claim) for name in pair)
        kept = [f"examples/{TASK}/runs/{name}-s*" for name in names]
        return [" ".join(["dc-nmt results", *kept, "--over-seeds --baseline", list(names)[-1]])]
    missing = [s for s in subjects if claim.by == "analysis" or not _is_kept(s, home)]
    words = [each for subject in missing for each in run_commands(subject)]
    folders = dict.fromkeys(str(_run(subject).folder) for subject in missing)
    if claim.by == "analysis":
        what, *options = claim.analysis.split()
        if what == "analyze":
            what, options = f"{what} {options[0]}", options[1:]
        words.append(["dc-nmt", *what.split(), *folders, *options])
    else:
        words.append(["dc-nmt", "results", *folders, "--keep", f"examples/{TASK}/{KEPT[-1]}"])
    return list(dict.fromkeys(map(shlex.join, words)))


def run_commands(subject: Subject, seed: int = 1) -> Iterator[list[str]]:
    """Yields the command that trains a system, and one for another way to translate."""
    run = training(subject)
    name = f"{run.name or run.arch}-s{seed}"
    yield [
        *("dc-nmt", "run", TASK, *subject.words),
        *("--name", name, "--seed", str(seed), "--threads", "1"),
    ]
    way = NeededDecoding(run, flags=subject.decode)
    if way.flags:
        words = ["dc-nmt", "evaluate", TASK, run.arch, "--name", name, "--seed", str(seed)]
        yield [*words, "--as", way.name, *way.flags]


def _run(subject: Subject) -> Experiment:
    run = training(subject)
    return plan_run(RunOptions(TASK, run.arch, name=f"{run.name or run.arch}-s1"))


def _is_kept(subject: Subject, home: Path) -> bool:
    """Returns True if a run of a system is kept, with the translation that a claim compares."""
    run = training(subject)
    way = NeededDecoding(run, flags=subject.decode).name
    pattern = f"{run.name or run.arch}-s[0-9]*/hypotheses{f'-{way}' if way else ''}.*"
    return any(any((home / folder).glob(pattern)) for folder in KEPT)
