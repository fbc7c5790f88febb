"""Patches of ``fairseq-interactive``: one answer for each line, whatever the line holds."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from ..errors import UserError
from .patch import replaces


class _Input:
    """Reads the input in lines, up to the line that ends it.

    Only a line feed ends a line; fairseq's reader also splits at carriage returns.
    """

    def __init__(self) -> None:
        self.read = 0  # lines that were yielded
        self.too_long: UserError | None = None

    def buffers(self, path: str, size: int) -> Iterator[list[str]]:
        """Yields lists of `size` lines; the last list may be shorter.

        Raises:
            UserError: a line is not UTF-8, or too long; earlier lines were already yielded
        """
        buffer: list[str] = []
        for number, raw in enumerate(_bytes_of(path), start=1):
            try:
                # some editors begin a file with a byte order mark
                buffer.append(raw.decode("utf-8-sig" if number == 1 else "utf-8").strip())
            except UnicodeDecodeError as error:
                if buffer:
                    yield from self._given(buffer)
                raise UserError(
                    f"--input {path}, line {number}: byte 0x{raw[error.start]:02x} is not valid "
                    "UTF-8."
                ) from None
            if len(buffer) >= size:
                yield from self._given(buffer)
                buffer = []
        if buffer:
            yield from self._given(buffer)

    def _given(self, buffer: list[str]) -> Iterator[list[str]]:
        before = len(buffer)
        yield buffer
        self.read += before
        if self.too_long is not None:
            raise self.too_long

    def batches(self, stock: Callable[..., Any], lines: list[str], *args: Any) -> Iterator[Any]:
        """Makes fairseq's batches of the lines before the first line that is too long."""
        given = list(lines)  # fairseq removes the constraints from the given lines
        try:
            yield from stock(lines, *args)
        except Exception as error:
            if not re.match(r"Size of sample #\d+ is invalid", str(error)):
                raise
            _, task, limits, encode = args
            limit = limits[0] if isinstance(limits, (tuple, list)) else limits
            lengths = task.get_interactive_tokens_and_lengths(lines, encode)[1]
            place = next(n for n, length in enumerate(lengths) if int(length) > limit)
            self.too_long = UserError(
                f"input line {self.read + place + 1}: has {int(lengths[place]):,} tokens and the "
                f"model {limit:,} positions: split it, or leave such lines out with "
                "--skip-invalid-size-inputs-valid-test. The lines before it were translated."
            )
            lines[:] = given[:place]
            if lines:
                yield from stock(lines, *args)


def _bytes_of(path: str) -> Iterator[bytes]:
    if path == "-":
        yield from sys.stdin.buffer
        return
    stream: BinaryIO
    with open(path, "rb") as stream:
        yield from stream


_input = _Input()


@replaces(
    "fairseq_cli.interactive:buffered_read",
    "f8589558dc51",
    reason="the reader ends a line at a carriage return too: one line gets two answers",
    since="fairseq 0.12.2",
    test="tests/system/test_generation.py",
)
def read_lines(stock: Callable[..., Any]) -> Callable[..., Iterator[list[str]]]:
    def buffered_read(path: str, size: int) -> Iterator[list[str]]:
        return _input.buffers(path, size)

    return buffered_read


@replaces(
    "fairseq_cli.interactive:make_batches",
    "dd6d15986816",
    reason="a line that is too long ends the program before the lines above it are answered",
    since="fairseq 0.12.2",
    test="tests/system/test_generation.py",
)
def answer_up_to_the_first_too_long(stock: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    def make_batches(lines: list[str], *args: Any) -> Iterator[Any]:
        return _input.batches(stock, lines, *args)

    return make_batches
