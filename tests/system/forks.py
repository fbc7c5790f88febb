"""Functions and programs in forked copies of this process, which has imported torch and fairseq."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import multiprocessing
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NoReturn

import fairseq_cli.eval_lm
import fairseq_cli.generate
import fairseq_cli.hydra_train
import fairseq_cli.interactive
import fairseq_cli.preprocess
import fairseq_cli.train
import fairseq_cli.validate  # noqa: F401
import pytest
import torch
import torch._dynamo  # torch imports it with its first optimizer
import tqdm

from dc_nmt_plugin import compat
from dc_nmt_plugin.laboratory import steps
from dc_nmt_plugin.laboratory.recipes import plan, preparation

compat.apply(all_of_them=True)  # of the programs too, which are imported here
programs = {entry.name: entry for entry in entry_points(group="console_scripts")}
program_on_path = steps.start


class Fork:
    """A function in a forked copy of this process, used as a ``subprocess.Popen`` is.

    It has its own exit status, signals and global state, but needs no seconds for imports.
    """

    def __init__(
        self,
        call: Callable[[], object],
        stdout: Any = None,
        stderr: Any = None,
        group: bool = False,
    ) -> None:
        piped = stdout == steps.subprocess.PIPE
        reading, writing = os.pipe() if piped else (None, None)
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            if group:
                os.setsid()
            out = writing if piped else stdout and stdout.fileno()
            same = stderr == steps.subprocess.STDOUT
            self._run(call, out, out if same else stderr and stderr.fileno())
        if writing is not None:
            os.close(writing)
        self.stdout = reading and os.fdopen(reading, "rb")

    @staticmethod
    def _run(call: Callable[[], object], *descriptors: int | None) -> NoReturn:
        code = 1
        # looking through what this process has from its parent would copy all its pages
        gc.freeze()
        try:
            for number, descriptor in enumerate(descriptors, start=1):
                if descriptor is not None:
                    os.dup2(descriptor, number)
            # not those of a process that keeps what is printed to itself, such as pytest's
            sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as a program that begins
            signal.signal(signal.SIGINT, signal.default_int_handler)
            torch.set_num_threads(1)
            # the lock that all processes share would stay locked by one that a test kills
            tqdm.tqdm.set_lock(threading.RLock())
            code = int(call() or 0)  # type: ignore[call-overload]
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        finally:
            for child in multiprocessing.active_children():  # as at the end of a program
                child.terminate()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def wait(self, timeout: float | None = None) -> int | None:
        """Exit status; None where it has not ended after that many seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while end is None or time.monotonic() < end:
            pid, status = os.waitpid(self.pid, 0 if end is None else os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        return None

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def kill_group(self) -> None:
        os.killpg(self.pid, signal.SIGKILL)
        self.wait()


def run_program(words: Sequence[str]) -> object:
    """Runs an installed program in this process, as its script would."""
    sys.argv = list(words)
    logging.disable(logging.NOTSET)
    layout = "%(asctime)s | %(levelname)s | %(name)s | %(message)s"
    logging.basicConfig(stream=sys.stdout, level="INFO", force=True, format=layout)
    return programs[words[0]].load()()


def start(words: Sequence[str], stdout: Any, stderr: Any) -> Any:
    """As ``steps.start``, but what is written in Python needs no import of torch."""
    if words[0] not in programs:
        return program_on_path(words, stdout=stdout, stderr=stderr)
    return Fork(lambda: run_program(words), stdout, stderr)


# a program on PATH: hands its words, folder and standard files to `run_script`, which forks; by sh,
# because the path of Python may have spaces or be long
PROGRAM = """#!/bin/sh
exec {python} -X utf8 -IS {asking} "$0" "$@"
"""
ASKING = """import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({address!r})
    words = [os.path.basename(sys.argv[1]), *sys.argv[2:]]
    socket.send_fds(asked, [json.dumps([words, os.getcwd()]).encode()], [0, 1, 2])
    sys.exit(int(asked.recv(9)))
"""


def run_script(script: Path, folder: Path, **environment: str) -> tuple[int, str]:
    """Runs a shell script whose installed programs are forks of this process, one at a time.

    Args:
        script: for bash
        folder: takes the programs and what the script prints
        environment: further variables

    Returns:
        exit status, and what it printed
    """
    (folder / "programs").mkdir(exist_ok=True)
    places = [folder / "programs", Path(sys.executable).parent, os.environ["PATH"]]
    variables = {**os.environ, **environment, "PATH": os.pathsep.join(map(str, places))}
    with contextlib.ExitStack() as stack:
        # not in `folder`: a socket's path has at most 107 bytes
        short = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))
        (short / "asking.py").write_text(ASKING.format(address=str(short / "socket")))
        python, asking = shlex.quote(sys.executable), shlex.quote(str(short / "asking.py"))
        program = PROGRAM.format(python=python, asking=asking)
        for name in programs:
            (folder / "programs" / name).write_text(program)
            (folder / "programs" / name).chmod(0o755)
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.bind(str(short / "socket"))
        server.listen()
        server.settimeout(0.05)
        printed = stack.enter_context(open(folder / "printed", "wb"))
        words = ["bash", "-e", str(script)]
        process = subprocess.Popen(words, env=variables, stdout=printed, stderr=subprocess.STDOUT)
        while process.poll() is None:
            with contextlib.suppress(TimeoutError):
                asked, _ = server.accept()
                with asked:
                    _answer(asked)
    return process.returncode, (folder / "printed").read_text("utf-8")


def _answer(asked: socket.socket) -> None:
    message, descriptors, _, _ = socket.recv_fds(asked, 1 << 16, 3)
    words, folder = json.loads(message)

    def call() -> object:
        os.dup2(descriptors[0], 0)
        os.chdir(folder)
        return run_program(words)

    with contextlib.ExitStack() as files:
        _, out, err = (files.enter_context(os.fdopen(each, "r+b", 0)) for each in descriptors)
        code = Fork(call, out, err).wait()
    asked.sendall(str(code).encode())


def start_for_recipes(patch: pytest.MonkeyPatch) -> None:
    """Makes the programs of recipes forks of this process, on the CPU, each with one worker."""
    patch.setattr(plan, "visible_gpus", lambda: 0)
    patch.setattr(preparation, "usable_cpus", lambda: 1)
    patch.setattr(steps, "start", start)
