"""Jobs at the same time: what they raise is raised, and none outlives the others' failure."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from functools import partial

import pytest

from dc_nmt_plugin.errors import ConfigError, UserError
from dc_nmt_plugin.pipeline import stoppable
from dc_nmt_plugin.side_by_side import side_by_side

LONG = 60.0  # seconds; more than any test here may take


def test_at_the_same_time_and_no_more_of_them():
    together = multiprocessing.get_context("fork").Barrier(2)
    at_work = multiprocessing.get_context("fork").Value("i", 0)

    def job():
        with at_work.get_lock():
            at_work.value += 1
        together.wait(LONG)
        assert at_work.value == 2
        together.wait(LONG)
        with at_work.get_lock():
            at_work.value -= 1

    side_by_side([job] * 4, at_once=2)


def test_one_at_a_time_is_in_order(tmp_path):
    def job(number):
        with open(tmp_path / "order", "a") as file:
            file.write(f"{number} ")

    side_by_side([partial(job, number) for number in range(3)], at_once=1)
    assert (tmp_path / "order").read_text() == "0 1 2 "


def test_the_first_failure_stops_the_others(tmp_path):
    def fails():
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
        raise ConfigError(["no such thing"])

    def long():
        (tmp_path / "new").write_text(str(os.getpid()))
        (tmp_path / "new").rename(tmp_path / "pid")
        time.sleep(LONG)

    began = time.monotonic()
    with pytest.raises(ConfigError, match="no such thing"):
        side_by_side([long, fails, partial((tmp_path / "third").touch)], at_once=2)
    assert time.monotonic() - began < LONG / 2
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert not (tmp_path / "third").exists()


def test_a_request_to_end_is_not_lost_while_the_process_begins(tmp_path):
    """Python ignores what is raised in a function that is called after a fork."""
    forks: list[int] | None = []

    def count():
        if forks is not None:
            forks.append(1)

    def second_starts_slowly():
        if forks is not None and len(forks) == 2:
            time.sleep(1)

    def fails():
        raise ConfigError(["no such thing"])

    def second():
        with stoppable():
            (tmp_path / "second").touch()

    # there is no way to take it back: below it is switched off
    os.register_at_fork(before=count, after_in_child=second_starts_slowly)
    with stoppable(), pytest.raises(ConfigError, match="no such thing"):
        side_by_side([fails, second], at_once=2)
    forks = None
    assert not (tmp_path / "second").exists()


def test_a_killed_one_is_a_sentence():
    with pytest.raises(UserError, match="ended with -9"):
        side_by_side([lambda: os.kill(os.getpid(), signal.SIGKILL)], at_once=1)
