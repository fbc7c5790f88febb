"""Small faults of fairseq, after which another model would be trained or kept.

Three of them make a run that was stopped and continued equal to an unbroken run.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from fairseq.optim.lr_scheduler.reduce_lr_on_plateau import ReduceLROnPlateauLRSchedule

from .beginning import is_in
from .change import Function, replace
from .continuing import LOADING, SAVING, patience_count
from .saving import SAVE

PATIENCE = "patience"  # in a checkpoint's extra_state
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


@replace(
    {**SAVING, **LOADING},
    reason="a run that is stopped and continued starts to count --patience anew",
    test="tests/system/test_continuing.py",
)
def continue_patience(save: Function, load: Function) -> tuple[Function, ...]:
    def save_checkpoint(self: Any, filename: str, extra_state: dict[str, Any]) -> Any:
        count = patience_count()
        if "best" in count:  # a validation was counted
            patience = {"best": count["best"], "num_runs": count["num_runs"]}
            extra_state = {**extra_state, PATIENCE: patience}
        return save(self, filename, extra_state)

    def load_checkpoint(self: Any, filename: str, *resets: Any, **named: Any) -> Any:
        state = load(self, filename, *resets, **named)
        continues = is_in(filename, self.cfg.checkpoint.save_dir)
        if state and continues and not Resets(*resets, **named).begins_anew:
            patience_count().update(state.get(PATIENCE) or {})
        return state

    return save_checkpoint, load_checkpoint


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
    after="continue_patience",
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
    SAVE,
    reason="after a validation with NaN, any model is saved as checkpoint_best.pt",
    test="tests/system/test_continuing.py",
    after="save_every_interval",
)
def nan_is_never_the_best(save: Function) -> Function:
    def save_checkpoint(cfg: Any, trainer: Any, epochs: Any, value: float | None) -> Any:
        is_nan = value is not None and math.isnan(value)
        return save(cfg, trainer, epochs, None if is_nan else value)

    return save_checkpoint
