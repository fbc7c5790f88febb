"""Ends ``dc-nmt bench`` after a signal with the status that shells give it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Signal:
    """Holds the signal that ended the measurement: Ctrl-C, or a request to end.

    Attributes:
        number: of the signal
    """

    number: int = signal.SIGINT

    @property
    def status(self) -> int:
        """Returns the exit status: 130 after Ctrl-C, 143 after a request to end."""
        return 128 + self.number


@contextmanager
def terminated_as_interrupted() -> Iterator[Signal]:
    """Context in which SIGTERM raises KeyboardInterrupt, as Ctrl-C does."""
    came = Signal()

    def interrupt(number: int, _: object) -> None:
        came.number = number
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGTERM)
    if before == signal.SIG_IGN:
        yield came
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, before)
