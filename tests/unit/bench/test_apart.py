"""Subjects of a benchmark in processes of their own."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from dc_nmt_plugin.bench.apart import apart
from dc_nmt_plugin.errors import UserError


def counter():
    calls: list[int] = []

    def call(number: int) -> tuple[int, list[int]]:
        calls.append(number)
        if number < 0:
            raise ValueError(f"{number} is negative")
        return os.getpid(), calls

    return call


def test_a_function_keeps_its_process_and_what_it_remembers():
    with apart(counter, "cpu") as one, apart(counter, "cpu") as other:
        first, second = one(1), one(2)
        assert first[0] == second[0] not in (os.getpid(), other(3)[0])
        assert second[1] == [1, 2] and other(4)[1] == [3, 4]
    with pytest.raises(ProcessLookupError):
        os.kill(first[0], 0)


def test_its_exceptions_come_back_and_it_goes_on():
    with apart(counter, "cpu") as function:
        with pytest.raises(ValueError, match="-1 is negative"):
            function(-1)
        assert function(5)[1] == [-1, 5]


def test_a_killed_process_is_told():
    with apart(counter, "cpu") as function:
        os.kill(function(0)[0], signal.SIGKILL)
        with pytest.raises(UserError, match=str(-signal.SIGKILL)):
            function(1)


def test_nothing_is_left_of_a_killed_benchmark():
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with apart(counter, "cpu") as one, apart(counter, "cpu") as other:
            os.write(writer, f"{one(1)[0]} {other(1)[0]}".encode())
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    left = [int(number) for number in os.read(reader, 100).split()]
    assert len(left) == 2
    end = time.monotonic() + 20
    while any(map(is_running, left)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(is_running, left))


def is_running(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # ended; reaping it is init's task


def test_with_a_gpu_there_is_one_process():
    with apart(counter, "cuda") as function:
        assert function(1) == (os.getpid(), [1])
