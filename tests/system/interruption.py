"""Stops a training run in the middle, and compares the continued run with an uninterrupted one."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import torch
from fairseq.trainer import Trainer
from systems import load


def updates(save: Path) -> int:
    """Returns the updates of a run's last checkpoint."""
    number: int = load(save)["optimizer_history"][-1]["num_updates"]
    return number


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_before_update(number: int) -> None:
    """End this process as ``kill -9`` does, before its `number`-th update."""
    train_step = Trainer.train_step

    def step(self: Any, samples: Any, raise_oom: bool = False) -> Any:
        if self.get_num_updates() + 1 == number:
            die()
        return train_step(self, samples, raise_oom)

    Trainer.train_step = step


def kill_while_saving(number: int) -> None:
    """End this process in the middle of writing its `number`-th checkpoint."""
    save, calls = torch.save, []

    def half_saved(state: Any, file: Any) -> None:
        calls.append(file)
        if len(calls) == number:
            file.write(b"half of a checkpoint")
            file.flush()
            die()
        save(state, file)

    torch.save = half_saved


def same(left: Any, right: Any) -> bool:
    """Whether two nested structures hold the same values and exactly the same tensors."""
    if isinstance(left, torch.Tensor):
        return torch.equal(left, right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def assert_same_training(state: dict[str, Any], expected: dict[str, Any]) -> None:
    """Two checkpoints with the same parameters and the same optimizer's memory."""
    assert same(state["model"], expected["model"])
    assert same(state["last_optimizer_state"], expected["last_optimizer_state"])
