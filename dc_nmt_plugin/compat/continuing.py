"""Changes of how a run that was stopped goes on, and of when it has ended."""

from __future__ import annotations

import logging
import zlib
from typing import Any

import numpy as np

from ..errors import UserError
from .change import Function, program_module, replace

logger = logging.getLogger(__name__)

LOADING = {"fairseq.trainer:Trainer.load_checkpoint": "c6d46e918710"}
SAVING = {"fairseq.trainer:Trainer.save_checkpoint": "49a930e8722b"}
BATCHES, DIGEST = "batches_in_epoch", "digest_of_batches"  # in the state of an epoch's batches


@replace(
    {
        "fairseq.data.iterators:EpochBatchIterator.state_dict": "429c6505132d",
        "fairseq.data.iterators:EpochBatchIterator.load_state_dict": "9c027673d362",
    },
    reason="a run that was stopped in the middle of an epoch and continues with other batches "
    "(--max-tokens, --seed, GPUs) leaves a part of the text out or reads it twice",
    test="tests/system/test_continuing.py",
)
def same_batches_until_the_epoch_ends(save: Function, restore: Function) -> tuple[Function, ...]:
    def state_dict(self: Any) -> dict[str, Any]:
        state = save(self)
        if state["iterations_in_epoch"]:
            state |= {BATCHES: len(self), DIGEST: _digest_of_batches(self)}
        return state

    def load_state_dict(self: Any, state: dict[str, Any]) -> None:
        made = state.get("iterations_in_epoch", 0)
        # checkpoints of earlier versions have no digest
        if made and state.get(DIGEST, _digest_of_batches(self)) != _digest_of_batches(self):
            raise UserError(
                f"the checkpoint was saved after {made} of {state[BATCHES]} batches of epoch "
                f"{state['epoch']}, and with these flags the epoch has {len(self)} others: a part "
                "of the text would be left out or read twice. Continue with the same --max-tokens, "
                "--batch-size, --seed and number of GPUs until the epoch ends, or begin with epoch "
                "1 by --reset-dataloader."
            )
        restore(self, state)

    return state_dict, load_state_dict


def _digest_of_batches(epochs: Any) -> int:
    """Returns a number of all batches of an epoch, their order, and their part of each process."""
    digest = zlib.crc32(f"{epochs.seed} {epochs.num_shards}".encode())
    for batch in epochs.frozen_batches:
        numbers = np.asarray([len(batch), *batch], dtype=np.int64)
        digest = zlib.crc32(numbers.tobytes(), digest)
    return digest


@replace(
    {"fairseq_cli.train:train": "b144baec8b98"},
    reason="a finished run makes one more update each time it is started again",
    test="tests/system/test_continuing.py",
)
def end_at_the_end(stock: Function) -> Function:
    def train(cfg: Any, trainer: Any, task: Any, epochs: Any) -> Any:
        reason = _why_ended(cfg, trainer)
        if reason is None:
            return stock(cfg, trainer, task, epochs)
        logger.info(f"no further update: {reason}")
        return [None], True  # no validation, and stop

    return train


def _why_ended(cfg: Any, trainer: Any) -> str | None:
    """Returns the reason why the run has ended already; None when updates are left."""
    updates = trainer.get_num_updates()
    highest = cfg.optimization.max_update
    if 0 < highest <= updates:
        return f"{updates} are made (--max-update {highest})"
    hours = cfg.optimization.stop_time_hours
    if updates and 0 < hours < trainer.cumulative_training_time() / 3600:
        return f"it has trained for --stop-time-hours {hours}"
    patience = cfg.checkpoint.patience
    if 0 < patience <= patience_count().get("num_runs", 0):
        return f"it has stopped early (--patience {patience})"
    return None


def patience_count() -> dict[str, Any]:
    """Returns the count of --patience, which fairseq keeps as attributes of its function."""
    return vars(program_module("fairseq_cli.train", load=True).should_stop_early)
