"""Runs functions in forks of this process, such as jobs at the same time."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any

from .errors import UserError

Job = Callable[[], None]
# sends pairs of a result and an exception, of which one is None
Target = Callable[[Any, Connection], None]


def fork(target: Target, argument: Any, *, daemon: bool = False) -> tuple[Connection, ForkProcess]:
    """Starts ``target(argument, connection)`` in a fork, which SIGTERM ends.

    Returns:
        the other end of the connection, and the fork
    """
    context = multiprocessing.get_context("fork")
    parent_end, child_end = context.Pipe()
    process = context.Process(target=_begin, args=(target, argument, child_end), daemon=daemon)
    # an exception of a signal is lost in functions that run after a fork, so SIGTERM waits until
    # the target begins
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    child_end.close()
    return parent_end, process


def _begin(target: Target, argument: Any, connection: Connection) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the parent's answer is not the fork's
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    target(argument, connection)


def answer(connection: Connection, process: ForkProcess) -> Any:
    """Returns the next result of a fork, or raises its exception.

    Raises:
        UserError: the fork was killed
    """
    try:
        result, error = connection.recv()
    except (EOFError, ConnectionError):
        process.join()
        raise UserError(
            f"a process ended with {process.exitcode}; is there enough memory?"
        ) from None
    if error is not None:
        raise error
    return result


def side_by_side(jobs: Iterable[Job], at_once: int) -> None:
    """Runs jobs in forks of this process; the first failure stops the others.

    Args:
        jobs: what each process does; each has to handle SIGTERM itself
        at_once: number of jobs at the same time

    Raises:
        UserError: the process of a job was killed; exceptions of a job are raised again here
    """
    waiting, running = list(jobs), dict[Connection, ForkProcess]()
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                connection, process = fork(_run, waiting.pop(0))
                running[connection] = process
            for ended in wait(list(running)):
                assert isinstance(ended, Connection)
                process = running.pop(ended)
                try:
                    answer(ended, process)
                finally:
                    process.join()
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.join()


def _run(job: Job, connection: Connection) -> None:
    try:
        job()
        connection.send((None, None))
    except Exception as error:
        connection.send((None, error))
