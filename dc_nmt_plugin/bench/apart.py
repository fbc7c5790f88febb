"""Runs subjects in separate processes, so that their memory use does not interact."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

from ..side_by_side import answer, fork

Function = Callable[[Any], Any]
LOOK_AFTER = 1.0  # seconds after which a process that waits looks whether its parent lives


@contextmanager
def apart(make: Callable[[], Function], device: str) -> Iterator[Function]:
    """Runs a function in a fork of this process; on a GPU, which cannot be forked, in this process.

    A GPU cannot follow a fork: there it lives in this process.

    Args:
        make: makes the function, in the fork; modules that it or the arguments need must be
            imported before
        device: "cpu" or "cuda"

    Yields:
        the function; arguments and results are sent from process to process, exceptions too

    Raises:
        UserError: from the function, when its process was killed
    """
    if device == "cuda":
        yield make()
        return
    connection, process = fork(_serve, make, daemon=True)

    def call(argument: Any) -> Any:
        with suppress(ConnectionError):  # of a process that has ended, which answer() tells
            connection.send(argument)
        return answer(connection, process)

    try:
        yield call
    finally:
        process.terminate()
        process.join()


def _serve(make: Callable[[], Function], connection: Any) -> None:
    torch.cuda.is_available = lambda: False  # a GPU cannot follow a fork
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    parent = os.getppid()
    function = None
    # a killed parent cannot end this process, and other forks hold the pipe open
    while os.getppid() == parent:
        if not connection.poll(LOOK_AFTER):
            continue
        argument = connection.recv()
        try:
            function = function or make()
            connection.send((function(argument), None))
        except Exception as error:
            connection.send((None, error))
