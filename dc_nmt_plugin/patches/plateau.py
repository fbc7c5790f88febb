"""Patches of ``--lr-scheduler reduce_lr_on_plateau``, which a continued run starts anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairseq.optim.lr_scheduler.reduce_lr_on_plateau import ReduceLROnPlateauLRSchedule

from .patch import replaces

KEY = "num_bad_epochs"  # in the schedule's state; fairseq ignores what it does not know


@replaces(
    "fairseq.optim.lr_scheduler.reduce_lr_on_plateau:ReduceLROnPlateauLRSchedule.state_dict",
    "4d6e0955119c",
    reason="a checkpoint does not say how many epochs --lr-patience has counted",
    since="fairseq 0.12.2",
    test="tests/system/test_continuing.py",
)
def save_the_bad_epochs(stock: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    def state_dict(self: Any) -> dict[str, Any]:
        return {**stock(self), KEY: self.lr_scheduler.num_bad_epochs}

    return state_dict


@replaces(
    "fairseq.optim.lr_scheduler.reduce_lr_on_plateau:ReduceLROnPlateauLRSchedule.load_state_dict",
    "46d72960564a",
    reason="a continued run counts --lr-patience anew, and lowers the learning rate too late",
    since="fairseq 0.12.2",
    test="tests/system/test_continuing.py",
)
def load_the_bad_epochs(stock: Callable[..., None]) -> Callable[..., None]:
    def load_state_dict(self: Any, state_dict: dict[str, Any]) -> None:
        stock(self, state_dict)
        self.lr_scheduler.num_bad_epochs = state_dict.get(KEY, 0)

    return load_state_dict


@replaces(
    "fairseq.checkpoint_utils:load_checkpoint",
    "30f7c43ad0e2",
    reason="fairseq saves an epoch's checkpoint before it lowers the learning rate: a run that is "
    "continued there does without this validation",
    since="fairseq 0.12.2",
    test="tests/system/test_continuing.py",
)
def count_the_last_validation(stock: Callable[..., Any]) -> Callable[..., Any]:
    def load_checkpoint(cfg: Any, trainer: Any, **kwargs: Any) -> Any:
        extra_state, epochs = stock(cfg, trainer, **kwargs)
        # a schedule that was reset is at its first update, or has not counted these epochs
        resets = cfg.reset_optimizer or cfg.reset_lr_scheduler or cfg.reset_dataloader
        if extra_state and not resets and trainer.get_num_updates():
            place, loss = extra_state["train_iterator"], extra_state.get("val_loss")
            schedule = isinstance(trainer.lr_scheduler, ReduceLROnPlateauLRSchedule)
            if schedule and not place["iterations_in_epoch"] and loss is not None:
                trainer.lr_step(place["epoch"] - 1, loss)
        return extra_state, epochs

    return load_checkpoint
