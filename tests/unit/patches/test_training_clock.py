"""The time of a training run, also of an interrupted and continued run."""

from __future__ import annotations

import json

import pytest
from fairseq.logging import metrics

from dc_nmt_plugin.evaluation.logs import read_training_log


@pytest.fixture
def no_meters():
    metrics.reset()
    yield
    metrics.reset()


def test_the_clock_runs_on_when_a_checkpoint_is_loaded(no_meters):
    with metrics.aggregate("before"):  # another aggregator's meters are none of its business
        metrics.log_scalar("loss", 1.0)
    metrics.log_start_time("wall", priority=790, round=0)
    started = metrics.get_meter("default", "wall").start_time
    metrics.load_state_dict(json.loads(json.dumps(metrics.state_dict())))
    assert metrics.get_meter("default", "wall").start_time == started
    assert metrics.get_meter("default", "wall").elapsed_time > 0


def test_meters_of_a_checkpoint_without_a_clock(no_meters):
    metrics.log_start_time("wall", priority=790, round=0)
    metrics.load_state_dict({"default": []})
    assert metrics.get_meter("default", "wall") is None
    metrics.load_state_dict({})


@pytest.mark.parametrize(
    ("clock", "seconds"),
    [
        ([(10, 5), (20, 9)], 9),
        ([(10, 5), (20, 9), (20, 3), (30, 8)], 5 + 8),  # the second ten were done again
        ([(10, 5), (20, 9), (30, 3), (40, 8)], 9 + 8),  # stopped at a checkpoint
        ([(20, 9), (10, 6), (20, 11), (30, 2)], 11 + 2),  # before its first checkpoint, then after
        ([(10, 5), (20, 9), (30, 0), (40, 0)], None),  # fairseq's own clock of a continued one
    ],
)
def test_every_update_counts_once(tmp_path, clock, seconds):
    lines = ["| num. shared model params: 1,234 (num. trained: 1)"]
    for updates, wall in clock:
        values = {"num_updates": str(updates), "wall": str(wall), "wps": "1"}
        lines.append(f"2026 | INFO | train_inner | {json.dumps(values)}")
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    assert read_training_log(tmp_path / "train.log").train_seconds == seconds
