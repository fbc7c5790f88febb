"""Signals that end a program, as KeyboardInterrupt. Standard library only."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_waiting: list[int] | None = None  # signals that arrived while interrupts were delayed


@contextmanager
def interrupts() -> Iterator[list[int]]:
    """Context in which SIGINT and SIGTERM raise KeyboardInterrupt.

    Yields:
        the signals that have come, filled while the context lasts
    """
    came: list[int] = []

    def interrupt(sent: int, _: object) -> None:
        came.append(sent)
        if _waiting is None:
            raise KeyboardInterrupt
        _waiting.append(sent)

    before = {sent: signal.getsignal(sent) for sent in (signal.SIGINT, signal.SIGTERM)}
    # background jobs of a shell ignore Ctrl-C, and so do their programs
    heard = {sent: handler for sent, handler in before.items() if handler != signal.SIG_IGN}
    for sent in heard:
        signal.signal(sent, interrupt)
    try:
        yield came
    finally:
        for sent, handler in heard.items():
            signal.signal(sent, handler)


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Context that delays the interrupts of :func:`interrupts` until its end."""
    global _waiting
    _waiting = []
    try:
        yield
    finally:
        came, _waiting = _waiting, None
    if came:
        raise KeyboardInterrupt
