"""A process that has imported fairseq and nothing of this package, and whose forks run code.

Importing fairseq takes longer than most of what such a process is asked.
"""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path

import fairseq_cli.generate
import fairseq_cli.train
import fairseq_cli.validate  # noqa: F401
import torch._dynamo  # torch imports it with its first optimizer
from warm import compose_once

compose_once()
logging.root.handlers.clear()  # fairseq's for its programs; a fork has its own
logging.root.setLevel(logging.WARNING)
LAYOUT = "%(asctime)s | %(levelname)s | %(name)s | %(message)s"


class Started:
    """A process, used as a ``subprocess.Popen`` is."""

    def __init__(self, answers: socket.socket) -> None:
        self._answers, self._code = answers, None
        self.pid = int(answers.recv(20))

    def wait(self, timeout: float | None = None) -> int:
        if self._code is None:
            self._answers.settimeout(timeout)
            self._code = int(self._answers.recv(20))
        return self._code

    def kill(self) -> None:
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)


class Server:
    """Forks this process; what it is asked for later are forks of that fork."""

    def __init__(self) -> None:
        self._requests, requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            self._requests.close()
            try:
                _serve(requests)
            finally:
                os._exit(0)
        requests.close()

    def start(
        self,
        code: str,
        words: Iterable[object],
        folder: Path,
        path: Iterable[object],
        environment: dict[str, str],
        files: list[int],
    ) -> Started:
        """Runs code as ``python -c CODE WORDS…`` does.

        Args:
            code: as for ``python -c``
            words: the command line after the program's name
            folder: to run in
            path: where modules are looked for first
            environment: all variables
            files: standard input, output and error
        """
        request = [code, list(map(str, words)), str(folder), list(map(str, path)), environment]
        answers, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(
                self._requests, [json.dumps(request).encode()], [theirs.fileno(), *files]
            )
        return Started(answers)


def _serve(requests: socket.socket) -> None:
    """Answers requests until the process that has the other end is gone."""
    gc.freeze()  # looking through what a fork has from here would copy all pages
    gc.enable()
    for number in (signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, 1 << 20, 4)
        if not request:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            answers, *files = descriptors
            context = multiprocessing.get_context("fork")
            process = context.Process(target=_execute, args=(*json.loads(request), files))
            process.start()
            for file in files:
                os.close(file)
            with socket.socket(fileno=answers) as theirs:
                theirs.send(str(process.pid).encode())
                process.join()
                theirs.send(str(process.exitcode).encode())
            return
        for descriptor in descriptors:
            os.close(descriptor)


def _execute(
    code: str,
    words: list[str],
    folder: str,
    path: list[str],
    environment: dict[str, str],
    files: list[int],
) -> None:
    """Runs code, and ends the process as ``python -c`` would."""
    assert "dc_nmt_plugin" not in sys.modules
    # the program's own workers start as a user's do
    multiprocessing.set_start_method(None, force=True)  # type: ignore[arg-type]
    for number, file in enumerate(files):
        os.dup2(file, number)
    # not what pytest, of which this is a fork, has put there
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.unraisablehook, threading.excepthook = sys.__unraisablehook__, threading.__excepthook__
    logging.basicConfig(stream=sys.stdout, level="INFO", force=True, format=LAYOUT)
    torch.set_num_threads(1)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    root = str(Path(__file__).parents[2])
    others = [place for place in sys.path if place != root and "tests" not in place]
    sys.path[:] = [*path, "", *others]
    sys.argv = ["-c", *words]
    try:
        exec(code, {"__name__": "__main__"})
    except SystemExit:
        raise
    except BaseException:
        with contextlib.suppress(SystemExit):
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        sys.exit(1)
