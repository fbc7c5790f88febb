"""Changes of how fairseq saves checkpoints."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import Any

import torch
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from ..errors import UserError
from ..files import no_space
from .change import replace
from .continuing import is_of_this_run

logger = logging.getLogger(__name__)

TRIES, PAUSE = 3, 2.5  # fairseq's own; seconds


@replace(
    {
        "fairseq.checkpoint_utils:torch_persistent_save": "7b378dbffd0b",
        "fairseq.file_io:PathManager.copy": "bc6a76577a84",
    },
    reason="a second try to save writes behind the first one's half into the same file, and a copy "
    "that fails (full disk) has destroyed the checkpoint of that name",
    since="fairseq 0.12.2",
    test="tests/unit/compat/test_saving.py",
)
def write_whole_or_not(
    save: Callable[..., None], copy: Callable[..., Any]
) -> tuple[Callable[..., Any], ...]:
    def torch_persistent_save(obj: Any, filename: str, async_write: bool = False) -> None:
        if async_write or not PathManager.supports_rename(filename):
            return save(obj, filename, async_write)
        part = filename + ".tmp"
        for tries_left in reversed(range(TRIES)):
            try:
                with open(part, "wb") as file:
                    torch.save(obj, file)
                return os.replace(part, filename)
            except (OSError, RuntimeError) as error:
                if not tries_left:
                    raise _not_saved(filename, error) from error
                time.sleep(PAUSE)
        return None

    def copy_file(src_path: str, dst_path: str, overwrite: bool = False) -> Any:
        part = dst_path + ".tmp"
        try:
            copied = copy(src_path, part, True)
            os.replace(part, dst_path)
        except OSError as error:
            raise _not_saved(dst_path, error) from error
        return copied

    return torch_persistent_save, copy_file


def _not_saved(path: str, error: Exception) -> UserError:
    if os.path.exists(path + ".tmp"):
        os.remove(path + ".tmp")
    reason = no_space(error) or str(error).partition("\n")[0] or repr(error)
    return UserError(
        f"{path}: could not be saved ({reason}). The checkpoints saved before are intact: make "
        "room and start the same command again to resume."
    )


@replace(
    {"fairseq.trainer:Trainer.save_checkpoint": "49a930e8722b"},
    reason="an update of --save-interval-updates that ends an epoch gets no checkpoint of its own "
    "with --no-epoch-checkpoints, and a mean of the last checkpoints lacks it",
    since="fairseq 0.12.2",
    test="tests/system/test_continuing.py",
)
def save_every_interval(stock: Callable[..., Any]) -> Callable[..., Any]:
    def save_checkpoint(self: Any, filename: str, extra_state: dict[str, Any]) -> Any:
        name = _update_checkpoint(self, extra_state)
        if name is None or not self.should_save_checkpoint_on_current_rank:
            return stock(self, filename, extra_state)
        # before the others, so that checkpoint_last.pt never stands without it
        stock(self, name, extra_state)
        _remove_old(self)
        PathManager.copy(name, filename, overwrite=True)
        return os.path.abspath(filename)

    return save_checkpoint


def _update_checkpoint(trainer: Any, extra_state: dict[str, Any]) -> str | None:
    """Returns the name of an update's checkpoint that is due, and that fairseq leaves out."""
    cfg, place = trainer.cfg.checkpoint, extra_state.get("train_iterator")
    every, updates = cfg.save_interval_updates, trainer.get_num_updates()
    if not cfg.no_epoch_checkpoints or cfg.write_checkpoints_asynchronously:
        return None
    # an epoch's end is saved as the beginning of the next one; crash.pt has no place
    if not place or place["iterations_in_epoch"] or every <= 0 or updates % every:
        return None
    name = f"checkpoint_{place['epoch'] - 1}_{updates}{trainer.checkpoint_suffix}.pt"
    return os.path.join(cfg.save_dir, name)


def _remove_old(trainer: Any) -> None:
    """Deletes old checkpoints as --keep-interval-updates does after other updates."""
    cfg = trainer.cfg.checkpoint
    if cfg.keep_interval_updates <= 0:
        return
    pattern = rf"checkpoint_\d+_(\d+){trainer.checkpoint_suffix}\.pt"
    paths = checkpoint_utils.checkpoint_paths(cfg.save_dir, pattern, keep_match=True)
    kept_for_ever = cfg.keep_interval_updates_pattern
    old = [path for path, update in paths if kept_for_ever == -1 or update % kept_for_ever]
    for path in old[cfg.keep_interval_updates :]:
        os.remove(path)


@replace(
    {
        "fairseq_cli.train:validate_and_save": "3022f920884a",
        "fairseq.checkpoint_utils:load_checkpoint": "30f7c43ad0e2",
    },
    reason="--keep-best-checkpoints 3 leaves out the second and third best that are worse than the "
    "first; checkpoint_best.pt is not the best: a validation between two saved checkpoints "
    "(--validate-interval-updates, --save-interval) does not count, and after --restore-file the "
    "best value of another run does",
    since="fairseq 0.12.2",
    test="tests/system/test_continuing.py",
)
def save_the_best(
    stock: Callable[..., Any], load: Callable[..., Any]
) -> tuple[Callable[..., Any], ...]:
    def validate_and_save(
        cfg: Any, trainer: Any, task: Any, epochs: Any, subsets: list[str], end_of_epoch: bool
    ) -> Any:
        losses, stops = stock(cfg, trainer, task, epochs, subsets, end_of_epoch)
        if losses[0] is not None and not _has_saved(cfg, trainer, epochs, stops, end_of_epoch):
            best = getattr(checkpoint_utils.save_checkpoint, "best", None)
            highest = cfg.checkpoint.maximize_best_checkpoint_metric
            better = best is None or (losses[0] > best if highest else losses[0] < best)
            if better or cfg.checkpoint.keep_best_checkpoints > 0:
                checkpoint_utils.save_checkpoint(cfg.checkpoint, trainer, epochs, losses[0])
        path = _missing_best(cfg.checkpoint, losses[0], trainer.checkpoint_suffix)
        if path:
            state = {"train_iterator": epochs.state_dict(), "val_loss": losses[0]}
            state["best"] = checkpoint_utils.save_checkpoint.best
            trainer.save_checkpoint(path, state)
        return losses, stops

    def load_checkpoint(cfg: Any, trainer: Any, **kwargs: Any) -> Any:
        continues = is_of_this_run(cfg, trainer)
        result = load(cfg, trainer, **kwargs)
        save = checkpoint_utils.save_checkpoint
        if not continues and hasattr(save, "best"):
            logger.info(
                f"{cfg.save_dir} is not the folder of {cfg.restore_file}: the best "
                f"{cfg.best_checkpoint_metric} so far ({save.best:.3f}) does not count here; "
                "the next validation is the best"
            )
            del save.best
        return result

    return validate_and_save, load_checkpoint


def _has_saved(cfg: Any, trainer: Any, epochs: Any, stops: bool, end_of_epoch: bool) -> bool:
    """Returns True when fairseq has saved a checkpoint after this update."""
    every, updates = cfg.checkpoint.save_interval_updates, trainer.get_num_updates()
    return (
        stops
        or (end_of_epoch and epochs.epoch % cfg.checkpoint.save_interval == 0)
        or (every > 0 and updates % every == 0 and updates >= cfg.dataset.validate_after_updates)
    )


def _missing_best(cfg: Any, value: float | None, suffix: str) -> str | None:
    """Returns where the checkpoint of a validation belongs that fairseq did not save.

    fairseq saves none that is worse than all before, though fewer than
    ``--keep-best-checkpoints`` are there.
    """
    if value is None or cfg.no_save:
        return None
    first = f"checkpoint.best_{cfg.best_checkpoint_metric}_"
    name = f"{first}{value:.3f}"
    names = [each for each in os.listdir(cfg.save_dir) if each.startswith(first)]
    if len(names) >= cfg.keep_best_checkpoints or any(each.startswith(name) for each in names):
        return None
    return os.path.join(cfg.save_dir, f"{name}0{suffix}.pt")
