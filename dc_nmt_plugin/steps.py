"""Runs steps once: with stamps, without partial results, with resumption and a dry run.

A :class:`Step` makes one folder, with a stamp: a digest of everything that the result depends on. A
step with an unchanged stamp is skipped, and a step with another stamp runs again. The folder gets
its name at the end, so an interrupted step leaves nothing that looks finished. ``recipes/`` has the
steps, the commands ``prepare``, ``train``, ``evaluate`` and ``run`` call them.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import UserError
from .files import check_space, locked, write_text


def stamp_of(words: Iterable[object]) -> str:
    """Returns a short stamp of settings."""
    text = "".join(f"{word}\n" for word in words)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_stamp(path: Path) -> str | None:
    """Returns the stamp in a file; None without a file. A damaged stamp is another one."""
    return path.read_text("utf-8", "replace").rstrip("\n") if path.is_file() else None


def write_stamp(path: Path, stamp: str) -> None:
    # write_text replaces the file at once: half a stamp would look like that of other settings
    write_text(path, f"{stamp}\n")


class ShellWord(str):
    """A word of a command that has another form in a shell script, such as a variable."""

    shell: str  # with its quotes; "" leaves the word out

    def __new__(cls, word: object, shell: str) -> ShellWord:
        self = super().__new__(cls, word)
        self.shell = shell
        return self


@dataclass(frozen=True)
class Command:
    """A command line."""

    words: Sequence[str]  # program and arguments
    output: Path | None = None  # file of standard output; default the step's log
    log: Path | None = None  # copy of the output that later steps read, for a script
    call: Callable[[Path], None] | None = None  # does the same in this process; gets the log

    def __str__(self) -> str:
        text = shlex.join(self.words)
        return f"{text} > {shlex.quote(str(self.output))}" if self.output else text

    def run(self, log: Path) -> None:
        """Runs the command and appends its output to `log`.

        Raises:
            UserError: the command failed; its last lines are on standard error
        """
        if self.call:
            self.call(log)
            return
        with open(log, "ab") as errors, open(self.output or log, "ab") as output:
            errors.write(f"$ {self}\n".encode())
            errors.flush()
            with running(self.words, stdout=output, stderr=errors) as process:
                code = process.wait()
        if code:
            text = log.read_text("utf-8", errors="replace")
            check_space(log.parent, text)
            print("\n".join(text.splitlines()[-15:]), file=sys.stderr)
            raise UserError(f"{self.words[0]!r} failed; the whole log is {log}")


@dataclass(frozen=True)
class Step:
    """A step that makes one folder."""

    name: str  # printed at the start
    folder: Path  # the result
    stamp: Callable[[], str]  # returns the digest of the inputs; called after the steps before
    commands: Callable[[Path], Iterable[Command]]  # returns what fills this folder

    def is_done(self) -> bool:
        return read_stamp(self.folder / ".stamp") == self.stamp()

    def make(self) -> None:
        """Fills ``FOLDER.part``, then renames it; after a failure only the log remains.

        ``FOLDER.log`` always belongs to the present folder, so it shows how the folder was made.

        Raises:
            UserError: a command failed
        """
        stamp = self.stamp()
        part = self.folder.with_name(f"{self.folder.name}.part")
        log = part.with_name(f"{part.name}.log")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        try:
            log.write_text("")
            for command in self.commands(part):
                command.run(log)
            write_stamp(part / ".stamp", stamp)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        shutil.rmtree(self.folder, ignore_errors=True)
        log.replace(self.folder.with_name(f"{self.folder.name}.log"))
        part.replace(self.folder)


class Pipeline:
    """Runs steps and prints progress."""

    dry_run = False  # True where the steps are only printed

    def __init__(self) -> None:
        self._began = time.monotonic()

    def begin_script(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing; a script (recipes/script.py) begins with its variables."""

    def begin_run(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing; in a script, the steps of a run begin with further variables."""

    def note(self, text: str) -> None:
        print(text)

    def say(self, text: str) -> None:
        """Prints one line of progress, with the seconds since the start."""
        print(f"[{int(time.monotonic() - self._began):4d}s] {text}", flush=True)

    def run(self, folder: Path, *steps: Step) -> None:
        """Runs the steps that are not done, while no other process does so in the folder.

        Raises:
            UserError: a step failed
        """
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / ".lock", lambda: self.say(f"waiting for another recipe in {folder}")):
            for step in steps:
                if step.is_done():
                    self.say(f"{step.name}: done before")
                else:
                    self.say(step.name)
                    step.make()


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
