"""Commands of dc-nmt as data: what ``prepare``, ``train`` and ``evaluate`` do, step by step.

``recipes/`` plans them, ``recipes/execution.py`` carries them out, and ``recipes/script.py``
prints them as a list of command lines.

A step makes one folder. The folder gets its name when it is whole, so an interrupted step leaves
nothing that looks finished. A step of the text writes the stamp of everything that its result
depends on into the folder: with the same stamp it is not done again. The steps of a run know by
its record what is done.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..files import PART, write_text

EACH = "\0"  # in words: the name of each of a line's files


@dataclass(frozen=True)
class Line:
    """A command line."""

    words: tuple[str, ...]
    output: str = ""  # file of standard output; default the step's log
    shown: bool = False  # its output is also for the terminal
    files: tuple[str, ...] = ()  # the line is run for each of them
    is_check: bool = False  # changes nothing: a script leaves it out

    def each(self) -> Iterator[Line]:
        """Yields the line for each of its files."""
        for file in self.files or ("",):
            words = tuple(word.replace(EACH, file) for word in self.words)
            yield replace(self, words=words, files=())


@dataclass(frozen=True)
class Step:
    """Lines that make a folder, or, with a log of its own, continue the work in it."""

    name: str  # printed at the start
    folder: Path
    # lines that write into a folder, which is not whole yet; called when the steps before are done
    lines: Callable[[Path], Sequence[Line]]
    stamp: str = ""  # of what the folder depends on; "": `is_done` knows
    is_done: Callable[[], bool] = lambda: False  # called while the folder is locked
    log: Path | None = None  # of a step that works in the folder itself
    updates: int = 0  # of a training, which continues its log
    keeps_log: bool = False  # a later line reads FOLDER.log


@dataclass(frozen=True)
class Stage:
    """Steps in one folder, where no other job works meanwhile."""

    folder: Path
    steps: Sequence[Step]
    names: Mapping[str, Path] = field(default_factory=dict)  # of folders, in a script
    notes: Sequence[str] = ()  # printed before the steps
    end_note: str = ""
    prints: Path | None = None  # a file, after the steps
    hides_gpus: bool = False  # fairseq-generate takes every GPU that it sees


@dataclass(frozen=True)
class Command:
    """A command of dc-nmt, and the stage that it carries out, if it has one."""

    words: tuple[str, ...]
    stage: Stage | None = field(default=None, compare=False)
    output: str = ""  # file of standard output

    @property
    def line(self) -> Line:
        """Returns the command line, for a process of its own."""
        return Line(("dc-nmt", *self.words), self.output)


@dataclass(frozen=True)
class GridRun:
    """One run: the commands that train and evaluate it."""

    folder: Path
    seed: int
    commands: tuple[Command, ...]
    is_finished: Callable[[], bool]
    updates: int = 0  # of its training
    most_gpus: int = 1  # that its batch fills
    task: str = ""  # before the name, in a grid of several tasks

    @property
    def name(self) -> str:
        return f"{self.task}/{self.folder.name}" if self.task else self.folder.name


@dataclass(frozen=True)
class Grid:
    """Runs, the commands before them, and the commands after the last one."""

    runs: Sequence[GridRun]
    texts: Sequence[Command] = ()
    analyses: Sequence[Command] = ()  # of finished runs
    table: Command | None = None  # of the runs that are finished, if not all are

    @property
    def commands(self) -> list[Command]:
        """Returns all commands, in their order."""
        of_runs = [command for run in self.runs for command in run.commands]
        table = [] if self.table is None else [self.table]
        return [*self.texts, *of_runs, *self.analyses, *table]


def how_it_ended(code: int) -> str:
    """Returns how a program ended that failed, for a sentence.

    Args:
        code: its exit status, or the negative number of the signal that killed it
    """
    if code >= 0:
        return f"ended with status {code}"
    why = ", usually because the memory was full" if -code == signal.SIGKILL else ""
    return f"was killed by signal {-code} ({signal.Signals(-code).name}{why})"


def command_text(words: Sequence[str], output: str = "") -> str:
    """Returns a command line as a person types it."""
    return shlex.join(words) + (f" > {shlex.quote(output)}" if output else "")


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
        raise UserError(
            f"{folder}: dc-nmt prepare did not make this folder, and would replace it; move it, "
            "or give another --out"
        )


@contextmanager
def making_once(folder: Path, stamp: str = "") -> Iterator[Path]:
    """Yields ``FOLDER.part``, and gives it the name `folder` if the block succeeds.

    The log ``FOLDER.part.log`` becomes ``FOLDER.log``, which shows how the folder was made. After
    a failure the log alone remains, and the folder is what it was.

    Raises:
        UserError: the folder is to have a stamp, and somebody else made it
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
