"""fairseq's commands as tests run them.

:class:`Run` starts a command in a forked copy of the test process: a process of its own, with its
own exit status, signals and global state, but without the seconds that importing takes.
:func:`real` starts a program as a user would, and :class:`Bare` nearly so: in a forked copy of a
process that has imported fairseq and nothing of this package.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bare
import forks
import pytest

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 300  # seconds; ends a command that hangs


@dataclass(frozen=True)
class Result:
    """What a command left behind.

    Attributes:
        code: exit status; the negative number of the signal that ended it
        output: standard output
        errors: standard error
    """

    code: int
    output: str
    errors: str

    def good(self) -> Result:
        """Itself, after a check that the command succeeded."""
        assert self.code == 0, self.output[-3000:] + self.errors[-3000:]
        return self

    def logged(self, name: str) -> list[float]:
        """Every value of a number in the JSON log (``--log-format json``)."""
        rows = [line.split(" | ")[-1] for line in self.output.splitlines()]
        logs = [json.loads(row) for row in rows if row.startswith('{"')]
        return [float(log[name]) for log in logs if name in log]

    def hypotheses(self) -> dict[int, tuple[float, str]]:
        """Sentence → (score, tokens) of the best hypotheses that generation printed."""
        found = {}
        for line in self.output.splitlines():
            if line.startswith("H-"):
                number, score, text = line.split("\t")
                found[int(number[2:])] = (float(score), text)
        return found

    def scored(self) -> list[tuple[float, list[float]]]:
        """Score and tokens' log-probabilities of every hypothesis that was printed, in order."""
        rows = [line.split("\t") for line in self.output.splitlines()]
        scores = [float(row[1]) for row in rows if row[0].startswith("H-")]
        tokens = [list(map(float, row[1].split())) for row in rows if row[0].startswith("P-")]
        return list(zip(scores, tokens, strict=True))


class Run:
    """A program of fairseq, started in a forked copy of this process.

    Args:
        folder: where its output is kept
        program: the name after ``fairseq-``, or ``dc-nmt``
        arguments: its command line
        before: called in the new process before the program
        environment: variables of the new process, on top of this one's
    """

    def __init__(
        self,
        folder: Path,
        program: str,
        *arguments: object,
        before: Callable[[], Any] = lambda: None,
        environment: dict[str, str] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{program}-{time.monotonic_ns()}"
        self.files = [folder / f"{name}.out", folder / f"{name}.err"]

        def call() -> object:
            os.environ.update(environment or {})
            before()
            name = program if program == "dc-nmt" else f"fairseq-{program}"
            return forks.run_program([name, *map(str, arguments)])

        with open(self.files[0], "wb") as output, open(self.files[1], "wb") as errors:
            self.process = forks.Fork(call, output, errors)

    def wait(self) -> Result:
        """Wait for its end, but not for ever."""
        code = self.process.wait(TIMEOUT)
        if code is None:
            os.kill(self.process.pid, signal.SIGKILL)
            code = self.process.wait()
        return Result(code, *(path.read_text(encoding="utf-8") for path in self.files))


def run(folder: Path, program: str, *arguments: object, **options: Any) -> Result:
    """Start a command in a forked process and wait for its end; see :class:`Run`."""
    return Run(folder, program, *arguments, **options).wait()


def real(*command: object, folder: Path, environment: dict[str, str] | None = None) -> Result:
    """Run a program of this environment (``fairseq-train``, ``python``, …) as a user would."""
    programs = Path(sys.executable).parent
    done = subprocess.run(
        [str(programs / str(command[0])), *map(str, command[1:])],
        cwd=folder,
        env={**_users_variables(), **(environment or {})},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def _users_variables() -> dict[str, str]:
    programs = Path(sys.executable).parent
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    variables.pop("PYTHONPATH", None)
    variables["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return variables


class Bare:
    """Starts Python code in forks of a process that has fairseq and nothing of this package.

    Importing fairseq takes longer than most of what such a process is asked.

    Args:
        folder: for the output of what it starts
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._forks = multiprocessing.get_context("forkserver")
        self._forks.set_forkserver_preload(["bare"])
        # older Pythons do not hand sys.path to the fork server
        with pytest.MonkeyPatch.context() as patch:
            for name, value in _users_variables().items():
                patch.setenv(name, value)
            patch.setenv("PYTHONPATH", str(Path(__file__).parent))
            self._forks.Process().start()  # with which the server starts

    def run(
        self,
        code: str,
        *words: object,
        folder: Path,
        path: Iterable[object] = (),
        environment: dict[str, str] | None = None,
    ) -> Result:
        """Run code with words as its command line; see :func:`bare.execute`."""
        number = time.monotonic_ns()
        files = [self._folder / f"{number}.{kind}" for kind in ("out", "err")]
        arguments = {
            "code": code,
            "words": [str(word) for word in words],
            "folder": str(folder),
            "path": [str(place) for place in path],
            "environment": environment or {},
            "files": [str(file) for file in files],
        }
        process = self._forks.Process(target=bare.execute, kwargs=arguments)
        process.start()
        process.join(TIMEOUT)
        assert process.exitcode is not None, "it hangs"
        return Result(process.exitcode, *(file.read_text("utf-8") for file in files))


def assert_explained(result: Result, *pieces: object) -> None:
    """The command failed; all that it says to the user is one sentence with these pieces."""
    assert result.code == 1, result.output[-2000:] + result.errors
    assert "Traceback" not in result.output + result.errors, result.output[-3000:] + result.errors
    said = [line for line in result.errors.splitlines() if line.startswith("error: ")]
    assert len(said) == 1, result.errors
    for piece in pieces:
        assert str(piece) in said[0], said[0]
    assert result.errors.rstrip().endswith(said[0]), "it is the last thing on the screen"
