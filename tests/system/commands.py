"""fairseq's commands as tests run them.

:class:`Run` starts a command in a forked copy of the test process: a process of its own, with its
own exit status, signals and global state, but without the seconds that importing takes.
:func:`real` starts a program as a user would, and :class:`Bare` nearly so: in a forked copy of a
process that has imported fairseq and nothing of this package.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import fairseq_cli.eval_lm
import fairseq_cli.generate
import fairseq_cli.interactive
import fairseq_cli.preprocess
import fairseq_cli.train
import fairseq_cli.validate
import torch
import torch._dynamo
from warm import read_a_command_line

from dc_nmt_plugin import compat

ROOT = Path(__file__).resolve().parents[2]
compat.apply(all_of_them=True)  # of the programs too, which are imported here


def _hydra_train() -> Any:
    # imported in the new process alone: the plugin knows by it that Hydra's store is asked for
    from fairseq_cli.hydra_train import cli_main

    return cli_main()


PROGRAMS = {
    name: getattr(fairseq_cli, name).cli_main
    for name in ("preprocess", "train", "validate", "generate", "interactive", "eval_lm")
}
PROGRAMS["hydra_train"] = _hydra_train
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
    """A command started in a forked copy of this process.

    Args:
        folder: where its output is kept
        program: a key of :data:`PROGRAMS`
        arguments: its command line
        before: called in the new process before the program
        environment: variables of the new process, on top of this one's
    """

    def __init__(
        self,
        folder: Path,
        program: str,
        *arguments: object,
        before: Callable[[], Any] | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{program}-{time.monotonic_ns()}"
        self.files = [folder / f"{name}.out", folder / f"{name}.err"]
        self.command = [program, *map(str, arguments)]
        read_a_command_line()
        self.pid = os.fork()
        if self.pid == 0:
            self._child(before, environment or {})

    def wait(self) -> Result:
        """Wait for its end, but not for ever."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                return Result(code, *(path.read_text(encoding="utf-8") for path in self.files))
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                deadline += TIMEOUT
            time.sleep(0.02)

    def _child(self, before: Callable[[], Any] | None, environment: dict[str, str]) -> NoReturn:
        """Run the program and leave as the interpreter would, excepthook and all."""
        code = 1
        # looking through what this process has from its parent would copy all its pages
        gc.freeze()
        try:
            for path, descriptor in zip(self.files, (1, 2), strict=True):
                with open(path, "wb") as file:
                    os.dup2(file.fileno(), descriptor)
            sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
            sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
            logging.basicConfig(
                stream=sys.stdout,
                level="INFO",
                force=True,
                format="%(asctime)s | %(levelname)s | %(name)s | %(message)s",
            )
            os.environ.update(environment)
            torch.set_num_threads(1)
            sys.argv = list(self.command)
            if before is not None:
                before()
            code = PROGRAMS[self.command[0]]() or 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


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
    """Starts Python code in forked copies of a process without this package.

    Importing fairseq takes longer than most of what such a process is asked.

    Args:
        folder: where it lives, and the output of what it starts
    """

    CODE = """
import atexit, gc, json, os, sys, threading
import fairseq_cli.generate, fairseq_cli.train, fairseq_cli.validate
import torch._dynamo  # which torch imports with its first optimizer

sys.path.insert(0, sys.argv[1])
import warm

warm.read_a_command_line()
del sys.path[0]
assert "dc_nmt_plugin" not in sys.modules
gc.freeze()
waiting = 0
for line in sys.stdin:
    if os.fork() == 0:  # one waits for each program, so that several can run at once
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            break
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with open(asked["status"] + ".part", "w") as file:
            file.write(str(status))
        os.rename(file.name, asked["status"])
        os._exit(0)
    while waiting and os.waitpid(-1, os.WNOHANG)[0]:
        waiting -= 1
    waiting += 1
else:
    while waiting:
        waiting -= bool(os.wait())
    sys.exit()
for descriptor, (path, flags) in enumerate(asked["files"]):
    os.dup2(os.open(path, flags), descriptor)
os.chdir(asked["folder"])
os.environ.update(asked["environment"])
sys.path[:0] = asked["path"]
sys.argv = asked["words"]
if asked["finalize"]:
    exec(asked["code"], {"__name__": "__main__"})
    sys.exit()
code = 1
try:
    exec(asked["code"], {"__name__": "__main__"})
    code = 0
except SystemExit as end:
    code = end.code if isinstance(end.code, int) else int(end.code is not None)
    if isinstance(end.code, str):
        print(end.code, file=sys.stderr)
except BaseException:
    sys.excepthook(*sys.exc_info())
threading._shutdown()
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)
"""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-c", self.CODE, str(Path(__file__).parent)],
            stdin=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=_users_variables(),
        )

    def run(
        self,
        code: str,
        *words: object,
        folder: Path,
        path: Iterable[object] = (),
        environment: dict[str, str] | None = None,
        finalize: bool = False,
    ) -> Result:
        """Run code with words as its command line.

        Args:
            code: as for ``python -c``
            words: the command line after the program's name
            folder: to run in
            path: where modules are looked for first
            environment: variables beside a user's own
            finalize: end as the interpreter does, which takes apart all that fairseq and torch
                made; half a second that is most of a tiny program's time
        """
        number = time.monotonic_ns()
        output, errors, status = (self._folder / f"{number}.{k}" for k in ("out", "err", "status"))
        writing = os.O_WRONLY | os.O_CREAT
        asked = {
            "code": code,
            "words": ["-c", *map(str, words)],
            "folder": str(folder),
            "path": list(map(str, path)),
            "environment": environment or {},
            "files": [(os.devnull, os.O_RDONLY), (str(output), writing), (str(errors), writing)],
            "status": str(status),
            "finalize": finalize,
        }
        assert self._process.stdin is not None
        with self._lock:
            self._process.stdin.write(f"{json.dumps(asked)}\n")
            self._process.stdin.flush()
        while not status.exists():
            assert self._process.poll() is None
            time.sleep(0.01)
        return Result(int(status.read_text()), output.read_text("utf-8"), errors.read_text("utf-8"))

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=TIMEOUT)


def assert_explained(result: Result, *pieces: object) -> None:
    """The command failed; all that it says to the user is one sentence with these pieces."""
    assert result.code == 1, result.output[-2000:] + result.errors
    assert "Traceback" not in result.output + result.errors, result.output[-3000:] + result.errors
    said = [line for line in result.errors.splitlines() if line.startswith("error: ")]
    assert len(said) == 1, result.errors
    for piece in pieces:
        assert str(piece) in said[0], said[0]
    assert result.errors.rstrip().endswith(said[0]), "it is the last thing on the screen"
