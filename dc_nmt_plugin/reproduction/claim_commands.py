"""The commands that measure a claim."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..papers.document import Subject
from ..recipes.experiment import Experiment
from ..recipes.options import RunOptions
from ..recipes.run_plan import plan_run
from .claims import BENCHED, HOME, KEPT, TASK, Decided, training
from .system import NeededDecoding


def commands_of(one: Decided, home: Path = HOME) -> list[str]:
    """Returns the commands that measure a claim: again, or what is missing."""
    claim = one.claim
    if claim.by == "params":
        items = dict.fromkeys(f"{cell.document}, {cell.item}" for cell, _ in claim.evidence)
        return [shlex.join(["dc-nmt", "params", "--item", item]) for item in items]
    subjects = list(dict.fromkeys([*claim.ours, *claim.than]))
    if claim.by in BENCHED:
        return [_bench(subjects, BENCHED[claim.by], home)]
    if claim.by == "score" and all(one.seen):
        return [_again(subjects, home)]
    missing = [s for s in subjects if claim.by == "analysis" or not _kept(s, home)]
    seed = _seed(subjects, home)
    words = [each for subject in missing for each in run_commands(subject, seed)]
    folders = dict.fromkeys(str(_run(subject, seed).folder) for subject in missing)
    if claim.by == "analysis":
        what, *options = claim.analysis.split()
        if what == "analyze":
            what, options = f"{what} {options[0]}", options[1:]
        words.append(["dc-nmt", *what.split(), *folders, *options])
    elif not missing:  # all are kept, and not compared yet
        words.append(["dc-nmt", "paper", "claims", "--measure"])
    else:
        words.append(["dc-nmt", "results", *folders, "--keep", f"examples/{TASK}/{KEPT[-1]}"])
    return list(dict.fromkeys(map(shlex.join, words)))


def run_commands(subject: Subject, seed: int = 1) -> Iterator[list[str]]:
    """Yields the command that trains a system, and one for another way to translate."""
    run = training(subject)
    name = f"{folder_of(subject)}-s{seed}"
    yield [
        *("dc-nmt", "run", TASK, *subject.words),
        *("--name", name, "--seed", str(seed), "--threads", "1"),
    ]
    way = NeededDecoding(run, flags=subject.decode)
    if way.flags:
        words = ["dc-nmt", "evaluate", TASK, run.arch, "--name", name, "--seed", str(seed)]
        yield [*words, "--as", way.name, *way.flags]


def folder_of(subject: Subject) -> str:
    """Returns the name of a system's folders, without the seed."""
    run = training(subject)
    return run.name or run.arch


def _run(subject: Subject, seed: int) -> Experiment:
    arch = subject.words[0]
    return plan_run(RunOptions(TASK, arch, name=f"{folder_of(subject)}-s{seed}"))


def _kept(subject: Subject, home: Path) -> dict[int, Path]:
    """Returns seed → folder of the kept runs with the translation that a claim compares."""
    way = NeededDecoding(training(subject), flags=subject.decode).name
    pattern = f"{folder_of(subject)}-s[0-9]*/hypotheses{f'-{way}' if way else ''}.*"
    found = [path.parent for folder in reversed(KEPT) for path in (home / folder).glob(pattern)]
    return {int(folder.name.rpartition("-s")[2]): folder for folder in found}


def _seed(subjects: Iterable[Subject], home: Path) -> int:
    """Returns the seed for further runs: the first, or the first that the kept ones have."""
    kept = [set(seeds) for subject in subjects if (seeds := _kept(subject, home))]
    return min(set.intersection(*kept), default=1) if kept else 1


def _bench(subjects: Sequence[Subject], mode: str, home: Path) -> str:
    """Returns the command that times kept runs and stores their speeds; without runs, models."""
    kept = [_kept(subject, home) for subject in subjects]
    if not all(kept):
        archs = [f"{subject.words[0]}_tiny" for subject in subjects]
        return shlex.join(["dc-nmt", "bench", *archs, "--mode", mode])
    place = f"examples/{TASK}"
    runs = [f"{place}/{runs[min(runs)].relative_to(home).as_posix()}" for runs in kept]
    words = ["dc-nmt", "bench", *runs, "--mode", mode, "--data", f"runs/{TASK}/data/bin", "--json"]
    return f"{shlex.join(words)} > {place}/{KEPT[-1]}/bench-{folder_of(subjects[0])}.json"


def _again(subjects: Sequence[Subject], home: Path) -> str:
    """Returns the command that compares kept runs again."""
    kept = {subject: list(_kept(subject, home).values()) for subject in subjects}
    decoded = {subject.words: kept[subject] for subject in subjects if subject.decode}
    words = []
    for subject, own in kept.items():
        # translations of one run are compared, not of two with one seed
        folders = decoded.get(subject.words, own)
        place = f"examples/{TASK}/{folders[0].relative_to(home).as_posix()}"
        way = NeededDecoding(training(subject), flags=subject.decode).name
        several = f"{place.rpartition('-s')[0]}-s*"
        words.append(":".join(filter(None, (place, way))) if decoded else several)
    if decoded:
        return shlex.join(["dc-nmt", "compare", *words])
    baseline = folder_of(subjects[-1])
    return " ".join(["dc-nmt results", *words, "--over-seeds --baseline", baseline])
