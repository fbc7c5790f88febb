"""A plan as data: steps of command lines, and variables that a machine or a script fills in.

``recipes/`` plans, ``recipes/execution.py`` carries a plan out here, and ``recipes/script.py``
prints it as a shell script. Both leave the same files.

A step makes one folder. The folder gets its name when it is whole, so an interrupted step leaves
nothing that looks finished. A step of the text writes the stamp of everything that its result
depends on into the folder: with the same stamp it is not done again. The steps of a run know by
its record what is done.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from .errors import UserError
from .files import write_text

VARIABLE = re.compile(r"\$(\$|[A-Z_]+)")  # in a word; $$ is a dollar sign
TO = "$TO"  # the folder that a step makes, before it has its name
PART = ".part"  # end of that folder's name


@dataclass(frozen=True)
class Variable:
    """A value of this machine or run, and the expression that gives a script its own."""

    name: str
    value: str
    shell: str
    about: str = ""  # comment in a script
    several: bool = False  # several words of a command line, or none


@dataclass(frozen=True)
class Line:
    """A command line. Its words may hold variables, such as ``$DATA/raw``."""

    words: tuple[str, ...]
    output: str = ""  # file of standard output; default the step's log
    shown: bool = False  # its output is also for the terminal


@dataclass(frozen=True)
class Step:
    """Lines that make a folder, or that continue what is in it."""

    name: str  # printed at the start
    folder: str
    lines: Sequence[Line]
    log: str = f"{TO}.log"  # gets the name of the folder, too
    stamp: str = ""  # of what the folder depends on; "": `is_done` knows
    is_done: Callable[[], bool] = lambda: False  # called while the folder is locked
    in_place: bool = False  # works in the folder itself
    updates: int = 0  # of a training, which continues its log


@dataclass(frozen=True)
class Stage:
    """Steps in one folder, where no other job works meanwhile."""

    folder: str
    steps: Sequence[Step]
    variables: Sequence[Variable] = ()  # further ones, from here on
    notes: Sequence[str] = ()  # printed before the steps
    # for a person here, not in a script: before the steps, after them, and a file that is printed
    notes_here: Sequence[str] = ()
    end_note: str = ""
    prints: str = ""
    run: int | None = None  # number of the run in a grid, whose stages a job may run alone
    name: str = ""  # of this run, or of what comes after the last one; may hold variables


@dataclass(frozen=True)
class Plan:
    """What a command does, on this machine or as a script."""

    variables: Sequence[Variable]
    stages: Iterable[Stage] = field(repr=False)  # each is planned when those before are done
    runs: int = 0  # of a grid; the stages with this number come after them


@dataclass(frozen=True)
class GridRun:
    """One run of a command that may have several: a plan, and a command line of its own."""

    folder: Path
    seed: int
    plan: Plan
    commands: tuple[Line, ...]  # of dc-nmt, which do the same in a job of their own
    is_finished: Callable[[], bool]
    updates: int = 0  # of its training
    most_gpus: int = 1  # that its batch fills
    task: str = ""  # before the name, in a grid of several tasks

    @property
    def name(self) -> str:
        return f"{self.task}/{self.folder.name}" if self.task else self.folder.name


@dataclass(frozen=True)
class Grid:
    """Runs of one command, what comes before them, and what comes after the last one."""

    runs: Sequence[GridRun]
    text: Stage | None = None
    text_commands: Sequence[Line] = ()  # of dc-nmt, which do the same in a job of their own
    analyses: Sequence[Line] = ()  # of finished runs
    table: Line | None = None  # of the runs that are finished, if not all are

    @property
    def variables(self) -> Sequence[Variable]:
        """Returns the variables of the text and the table."""
        return self.runs[-1].plan.variables if self.runs else ()

    def plan(self) -> Plan:
        """Returns one plan for all."""
        variables = list(self.variables)
        first = [] if self.text is None else [self.text]
        table = [] if self.table is None else [self.table]
        last = {"analyses": commands_stage(self.analyses), "table": commands_stage(table)}
        last = {name: stage for name, stage in last.items() if stage.steps}
        if len(self.runs) < 2:
            of_run = chain.from_iterable(run.plan.stages for run in self.runs)
            return Plan(variables, chain(first, of_run, last.values()))
        one_seed = len({run.seed for run in self.runs}) == 1
        shared = [variable for variable in variables if variable.name != "SEED" or one_seed]
        of_runs = self._stages_of_runs(len(shared) < len(variables), variables)
        of_last = (replace(stage, run=len(self.runs), name=name) for name, stage in last.items())
        return Plan(shared, chain(first, of_runs, of_last), len(self.runs))

    def _stages_of_runs(self, sets_seed: bool, variables: Sequence[Variable]) -> Iterator[Stage]:
        """Yields the stages of all runs, each with its number, its name and perhaps its seed."""
        of_script = not sets_seed and any(variable.name == "SEED" for variable in variables)
        for number, run in enumerate(self.runs):
            seed = [Variable("SEED", str(run.seed), str(run.seed))] if sets_seed else []
            name = with_seed(run.name, run.seed) if of_script else run.name
            for stage in run.plan.stages:
                own = [*seed, *stage.variables]
                yield replace(stage, run=number, name=name, variables=own)


def with_seed(name: str, seed: int) -> str:
    """Returns the name of a run's folder with the variable SEED, as a word of a plan."""
    stem = name.removesuffix(f"-s{seed}")
    return name if stem == name else f"{stem}-s$SEED"


def commands_stage(lines: Iterable[Line]) -> Stage:
    """Returns a stage of commands of dc-nmt. They lock, log and skip what is done by themselves."""
    return Stage("", [Step("", "", [line], log="", in_place=True) for line in lines])


def dc_nmt(words: Iterable[object], output: object = "") -> Line:
    """Returns the line of a command of dc-nmt."""
    return Line(("dc-nmt", *map(literal, words)), literal(output))


def command_text(words: Sequence[str], output: str = "") -> str:
    """Returns a command line as a person types it."""
    return shlex.join(words) + (f" > {shlex.quote(output)}" if output else "")


def literal(text: object) -> str:
    """Returns a word that stands for itself, even if it has a dollar sign."""
    return str(text).replace("$", "$$")


def filled(word: str, variables: Mapping[str, Variable]) -> str:
    """Returns a word with the values of its variables."""
    return VARIABLE.sub(lambda match: "$" if match[1] == "$" else variables[match[1]].value, word)


def filled_line(line: Line, variables: Mapping[str, Variable]) -> Line:
    """Returns a command line with the values of its variables."""
    words = tuple(filled_words(line.words, variables))
    return replace(line, words=words, output=filled(line.output, variables))


def filled_words(words: Iterable[str], variables: Mapping[str, Variable]) -> list[str]:
    """Returns the words of a command line with the values of their variables."""
    values = []
    for word in words:
        variable = variables.get(word.removeprefix("$"))
        if variable and variable.several:
            values += variable.value.split()
        else:
            values.append(filled(word, variables))
    return values


# -- folders that are made once ----------------------------------------------------------------


def stamp_of(facts: Any) -> str:
    """Returns the stamp of what a result depends on: a digest of its JSON."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def is_made(folder: Path, stamp: str) -> bool:
    """Returns True for a whole folder with this stamp. A damaged stamp is another one."""
    path = folder / ".stamp"
    return path.is_file() and path.read_text("utf-8", "replace").rstrip("\n") == stamp


def check_replaceable(folder: Path) -> None:
    """Refuses a folder without stamp, which would be replaced, unless it is empty.

    Raises:
        UserError: with what to do
    """
    if folder.is_dir() and ((folder / ".stamp").exists() or not any(folder.iterdir())):
        return
    if folder.exists():
        raise UserError(f"{folder}: is somebody's, and would be replaced; move it, or change --out")


@contextmanager
def making_once(folder: Path, stamp: str = "") -> Iterator[Path]:
    """Yields ``FOLDER.part``, and gives it the name `folder` if the block succeeds.

    The log ``FOLDER.part.log`` becomes ``FOLDER.log``, which shows how the folder was made. After
    a failure the log alone remains, and the folder is what it was.

    Raises:
        UserError: the folder is to have a stamp, and is somebody's
    """
    if stamp:
        check_replaceable(folder)
    part = folder.with_name(f"{folder.name}{PART}")
    log = part.with_name(f"{part.name}.log")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        log.write_text("")
        yield part
        if stamp:
            # write_text replaces the file at once: half a stamp would look like another one
            write_text(part / ".stamp", f"{stamp}\n")
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    log.replace(folder.with_name(f"{folder.name}.log"))
    part.replace(folder)


# -- programs ----------------------------------------------------------------------------------


def start(words: Sequence[str], **pipes: Any) -> subprocess.Popen[bytes]:
    """Starts a program of this environment; tests put a fork in the place of this function."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    environment = {**os.environ, "PATH": path}
    if "--cpu" in words:  # parts of fairseq use a GPU all the same where they see one
        environment["CUDA_VISIBLE_DEVICES"] = ""
    return subprocess.Popen(list(words), env=environment, close_fds=False, **pipes)


@contextmanager
def running(words: Sequence[str], **pipes: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a program of this environment; leaving the block early ends it."""
    process = start(words, **pipes)
    try:
        yield process
    except BaseException:
        process.terminate()
        process.wait()
        raise
