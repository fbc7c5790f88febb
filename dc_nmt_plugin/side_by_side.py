"""Runs jobs at the same time, each in its own process."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess

from .errors import UserError

Job = Callable[[], None]


def side_by_side(jobs: Iterable[Job], at_once: int) -> None:
    """Runs jobs in forks of this process; the first failure stops the others.

    Args:
        jobs: what each process does; each has to handle SIGTERM itself
        at_once: number of jobs at the same time

    Raises:
        UserError: the process of a job was killed; exceptions of a job are raised again here
    """
    waiting, running = list(jobs), dict[Connection, ForkProcess]()
    context = multiprocessing.get_context("fork")
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                parent_end, child_end = context.Pipe(duplex=False)
                process = context.Process(target=_run, args=(waiting.pop(0), child_end))
                # an exception of a signal is lost in functions that run after a fork, so SIGTERM
                # waits until the job begins
                before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
                try:
                    process.start()
                finally:
                    signal.pthread_sigmask(signal.SIG_SETMASK, before)
                child_end.close()
                running[parent_end] = process
            for ended in wait(list(running)):
                assert isinstance(ended, Connection)
                _raise_its_error(ended, running.pop(ended))
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.join()


def _run(job: Job, connection: Connection) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the parent's answer is not the job's
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    try:
        job()
        connection.send(None)
    except Exception as error:
        connection.send(error)


def _raise_its_error(connection: Connection, process: ForkProcess) -> None:
    try:
        error = connection.recv()
        process.join()
    except EOFError:
        process.join()
        error = UserError(f"a process ended with {process.exitcode}; is there enough memory?")
    if error is not None:
        raise error
