"""Changes after which a run that was stopped and continued equals an unbroken run."""

from __future__ import annotations

import logging
import zlib
from typing import Any, NamedTuple

import numpy as np
from fairseq.optim.lr_scheduler.reduce_lr_on_plateau import ReduceLROnPlateauLRSchedule

from ..errors import UserError
from .beginning import is_in
from .change import Function, program_module, replace

logger = logging.getLogger(__name__)

LOADING = {"fairseq.trainer:Trainer.load_checkpoint": "c6d46e918710"}
SAVING = {"fairseq.trainer:Trainer.save_checkpoint": "49a930e8722b"}
PATIENCE = "patience"  # in a checkpoint's extra_state
BATCHES, DIGEST = "batches_in_epoch", "digest_of_batches"  # in the state of an epoch's batches
BAD_EPOCHS = "num_bad_epochs"  # in the state of a plateau schedule; fairseq ignores both


class Resets(NamedTuple):
    """Arguments of ``Trainer.load_checkpoint``, after the name of the file."""

    reset_optimizer: bool = False
    reset_lr_scheduler: bool = False
    optimizer_overrides: Any = None
    reset_meters: bool = False

    @property
    def begins_anew(self) -> bool:
        """Returns True if the run has nothing of the checkpoint but its parameters."""
        return self.reset_optimizer or self.reset_meters


def _patience_count() -> dict[str, Any]:
    """Returns the count of --patience, which fairseq keeps as attributes of its function."""
    return vars(program_module("fairseq_cli.train", load=True).should_stop_early)


@replace(
    {**SAVING, **LOADING},
    reason="a run that is stopped and continued starts to count --patience anew",
    test="tests/system/test_continuing.py",
)
def continue_patience(save: Function, load: Function) -> tuple[Function, ...]:
    def save_checkpoint(self: Any, filename: str, extra_state: dict[str, Any]) -> Any:
        count = _patience_count()
        if "best" in count:  # a validation was counted
            patience = {"best": count["best"], "num_runs": count["num_runs"]}
            extra_state = {**extra_state, PATIENCE: patience}
        return save(self, filename, extra_state)

    def load_checkpoint(self: Any, filename: str, *resets: Any, **named: Any) -> Any:
        state = load(self, filename, *resets, **named)
        continues = is_in(filename, self.cfg.checkpoint.save_dir)
        if state and continues and not Resets(*resets, **named).begins_anew:
            _patience_count().update(state.get(PATIENCE) or {})
        return state

    return save_checkpoint, load_checkpoint


@replace(
    LOADING,
    reason="after --restore-file, the best value of another run counts, and checkpoint_best.pt is "
    "not saved",
    test="tests/system/test_continuing.py",
    after="continue_patience",
)
def forget_the_best_of_another_run(load: Function) -> Function:
    def load_checkpoint(self: Any, filename: str, *resets: Any, **named: Any) -> Any:
        state = load(self, filename, *resets, **named)
        cfg = self.cfg.checkpoint
        takes_best = state and "best" in state and not Resets(*resets, **named).begins_anew
        if takes_best and not is_in(filename, cfg.save_dir):
            logger.info(
                f"{filename} is of another folder: its best {cfg.best_checkpoint_metric} "
                f"({state['best']:.3f}) does not count here; the next validation is the best"
            )
            del state["best"]  # fairseq would take it over
        return state

    return load_checkpoint


@replace(
    {
        **LOADING,
        "fairseq.optim.lr_scheduler.reduce_lr_on_plateau:"
        "ReduceLROnPlateauLRSchedule.state_dict": "4d6e0955119c",
        "fairseq.optim.lr_scheduler.reduce_lr_on_plateau:"
        "ReduceLROnPlateauLRSchedule.load_state_dict": "46d72960564a",
    },
    reason="a run that is stopped and continued starts to count --lr-patience anew, without its "
    "last validation, and lowers the learning rate too late",
    test="tests/system/test_continuing.py",
    after="forget_the_best_of_another_run",
)
def continue_the_plateau(
    load: Function, save_schedule: Function, restore_schedule: Function
) -> tuple[Function, ...]:
    def state_dict(self: Any) -> dict[str, Any]:
        return {**save_schedule(self), BAD_EPOCHS: self.lr_scheduler.num_bad_epochs}

    def load_state_dict(self: Any, state: dict[str, Any]) -> None:
        restore_schedule(self, state)
        self.lr_scheduler.num_bad_epochs = state.get(BAD_EPOCHS, 0)

    def load_checkpoint(self: Any, filename: str, *resets: Any, **named: Any) -> Any:
        state = load(self, filename, *resets, **named)
        # a schedule that was reset is at its first update, or has not counted these epochs
        reset = Resets(*resets, **named)
        was_reset = reset.reset_optimizer or reset.reset_lr_scheduler
        was_reset = was_reset or self.cfg.checkpoint.reset_dataloader
        if state and self.get_num_updates() and not was_reset:
            _count_the_last_validation(self, state)
        return state

    return load_checkpoint, state_dict, load_state_dict


def _count_the_last_validation(trainer: Any, state: dict[str, Any]) -> None:
    """Makes the step of the schedule that follows the validation of a checkpoint's epoch.

    An epoch's checkpoint is saved before the schedule sees the validation.
    """
    epochs, loss = state["train_iterator"], state.get("val_loss")
    is_plateau = isinstance(trainer.lr_scheduler, ReduceLROnPlateauLRSchedule)
    if is_plateau and epochs["iterations_in_epoch"] == 0 and loss is not None:
        trainer.lr_step(epochs["epoch"] - 1, loss)


@replace(
    {"fairseq.tasks.fairseq_task:FairseqTask.get_batch_iterator": "07e39c9b6183"},
    reason="a continued run trains on other batches than an unbroken one",
    test="tests/system/test_continuing.py",
)
def compose_as_at_the_start(stock: Function) -> Function:
    def get_batch_iterator(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        uncached = kwargs.get("disable_iterator_cache") or kwargs.get("update_epoch_batch_itr")
        if "epoch" in kwargs and not uncached and self.can_reuse_epoch_itr(dataset):
            # an unbroken run has composed its batches in epoch 1; the state that is loaded into
            # the iterator has the real epoch
            kwargs["epoch"] = 1
        return stock(self, dataset, *args, **kwargs)

    return get_batch_iterator


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
    if 0 < patience <= _patience_count().get("num_runs", 0):
        return f"it has stopped early (--patience {patience})"
    return None
