"""Patches of how fairseq continues a training run, and of when the run ends."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable
from typing import Any

from fairseq import checkpoint_utils
from fairseq.distributed import utils as distributed_utils

from ..checkpoints.dictionaries import check_dictionaries, size_problem
from ..checkpoints.loading import (
    LAST,
    architecture_of,
    checkpoint_architecture,
    load_checkpoint,
    newest_readable,
)
from ..errors import UserError
from . import patience
from .patch import replaces

logger = logging.getLogger(__name__)


@replaces(
    "fairseq.trainer:Trainer.load_checkpoint",
    "c6d46e918710",
    reason="a damaged checkpoint_last.pt ends the run although older ones are whole, and one that "
    "does not fit is explained in a traceback, or not at all",
    since="fairseq 0.12.2",
    test="tests/system/test_refused_files.py",
)
def continue_from_what_is_whole(stock: Callable[..., Any]) -> Callable[..., Any]:
    def load_checkpoint(self: Any, filename: str, *args: Any, **kwargs: Any) -> Any:
        if os.path.basename(filename) == LAST and os.path.isfile(filename):
            continues = os.path.join(self.cfg.checkpoint.save_dir, LAST) == filename
            filename = newest_readable(filename)
            if continues and self.cfg.checkpoint.restore_file == LAST:
                _check_architecture(self, filename)
        if os.path.isfile(filename):
            check_dictionaries(filename, self.task)
            _check_schedule(self.cfg, filename)
        try:
            return stock(self, filename, *args, **kwargs)
        except UserError:
            raise
        except Exception as error:
            # fairseq asserts the criterion and the optimizer, and hides what torch says of the
            # parameters behind an exception of its own
            cause = error if isinstance(error, AssertionError) else error.__context__
            lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
            if not lines or not isinstance(cause, (AssertionError, RuntimeError)):
                raise
            if problem := size_problem(filename, self.task):
                raise UserError(problem) from error
            raise UserError(
                f"{filename}: does not fit this training; continue it with the flags that it was "
                "started with, or choose another --save-dir "
                f"({lines[min(1, len(lines) - 1)][:300]})."
            ) from error

    return load_checkpoint


def _check_architecture(trainer: Any, path: str) -> None:
    """Refuses to continue a run with another architecture.

    Parameters of another architecture may have the same names and shapes, so fairseq would train
    on. Only checks models and tasks of this package.

    Args:
        trainer: fairseq's, with the model that is to continue
        path: the checkpoint in the save folder

    Raises:
        UserError: the checkpoint's architecture has another name
    """
    package = __package__.partition(".")[0]
    parts = (trainer.task, trainer.get_model())
    if not any(type(part).__module__.partition(".")[0] == package for part in parts):
        return
    here, there = architecture_of(trainer.cfg.model), checkpoint_architecture(path)
    if None not in (here, there) and here != there:
        raise UserError(
            f"--save-dir {trainer.cfg.checkpoint.save_dir}: holds checkpoints of {there!r}, not of "
            f"{here!r}; give this run a folder of its own, or start from them with "
            "--finetune-from-model."
        )


def _check_schedule(cfg: Any, path: str) -> None:
    """Refuses to continue a run when its learning-rate schedule cannot read the checkpoint.

    Args:
        cfg: fairseq's configuration of this run
        path: the checkpoint that the run continues from

    Raises:
        UserError: the schedule needs values that the checkpoint's schedule did not save
    """
    resets = cfg.checkpoint
    fresh = not _continues(resets, path) and resets.finetune_from_model == path
    if resets.reset_optimizer or resets.reset_lr_scheduler or fresh:
        return
    state = load_checkpoint(path, mmap=True)
    before = ((state.get("cfg") or {}).get("lr_scheduler") or {}).get("_name")
    now = cfg.lr_scheduler.get("_name")
    saved = (state.get("optimizer_history") or [{}])[-1].get("lr_scheduler_state") or {}
    if None in (before, now) or before == now or now in ("fixed", "manual"):
        return
    if "best" not in saved or (now == "reduce_lr_on_plateau" and saved["best"] is None):
        raise UserError(
            f"--lr-scheduler {now}: {path} was trained with {before}, which saves nothing that "
            f"{now} could go on from; give --reset-lr-scheduler, or --lr-scheduler {before}."
        )


@replaces(
    "fairseq.checkpoint_utils:load_checkpoint",
    "30f7c43ad0e2",
    reason="--patience counts anew in a continued training; after --restore-file the best value of "
    "another run, perhaps on other text, stands in the way of a checkpoint_best.pt",
    since="fairseq 0.12.2",
    test="tests/system/test_continuing.py",
)
def continue_the_count(stock: Callable[..., Any]) -> Callable[..., Any]:
    def load_checkpoint(cfg: Any, trainer: Any, **kwargs: Any) -> Any:
        own = os.path.join(cfg.save_dir, LAST.replace(".pt", f"{trainer.checkpoint_suffix}.pt"))
        continues = _continues(cfg, own)
        best_is_here = _on_all_ranks(trainer, os.path.isfile(own.replace("_last", "_best")))
        extra_state, epochs = stock(cfg, trainer, **kwargs)
        if extra_state is None or cfg.reset_optimizer or cfg.reset_meters:
            return extra_state, epochs
        save = checkpoint_utils.save_checkpoint
        if continues:
            patience.restore(extra_state)
        if hasattr(save, "best") and not (continues and best_is_here):
            state = "has no checkpoint_best.pt" if continues else "is not the folder of"
            state = f"{cfg.save_dir} {state}" + ("" if continues else f" {cfg.restore_file}")
            logger.info(f"{state}: the best {cfg.best_checkpoint_metric} so far ({save.best:.3f}) "
                        "does not count here; the next validation is the best")  # fmt: skip
            del save.best
        return extra_state, epochs

    return load_checkpoint


def _continues(cfg: Any, path: str) -> bool:
    """Returns True when a checkpoint is in the save folder of this run."""
    if cfg.restore_file != LAST:
        path = cfg.restore_file
    elif not os.path.isfile(path):
        return False
    return os.path.realpath(os.path.dirname(path)) == os.path.realpath(cfg.save_dir)


def _on_all_ranks(trainer: Any, found: bool) -> bool:
    """Returns the first process's result, because other processes may not see its disk."""
    if trainer.data_parallel_world_size == 1:
        return found
    group = trainer.data_parallel_process_group
    return bool(distributed_utils.broadcast_object(found, 0, group, trainer.device))


@replaces(
    "fairseq.tasks.fairseq_task:FairseqTask.get_batch_iterator",
    "07e39c9b6183",
    reason="a task that composes its batches once (translation) composes them for the epoch it is "
    "continued in, and goes on with others than an unbroken training",
    since="fairseq 0.12.2",
    test="tests/system/test_continuing.py",
)
def compose_as_at_the_start(stock: Callable[..., Any]) -> Callable[..., Any]:
    def get_batch_iterator(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        anew = kwargs.get("disable_iterator_cache") or kwargs.get("update_epoch_batch_itr")
        if "epoch" in kwargs and not anew and self.can_reuse_epoch_itr(dataset):
            kwargs["epoch"] = 1  # what is loaded into the iterator says the real one
        return stock(self, dataset, *args, **kwargs)

    return get_batch_iterator


@replaces(
    "fairseq_cli.train:train",
    "b144baec8b98",
    reason="a finished run makes one more update each time it is started again",
    since="fairseq 0.12.2",
    test="tests/system/test_continuing.py",
)
def end_at_the_end(stock: Callable[..., Any]) -> Callable[..., Any]:
    def train(cfg: Any, trainer: Any, task: Any, epochs: Any) -> Any:
        if reason := _ended(cfg, trainer):
            logger.info(f"no further update: {reason}")
            return [None], True
        _check_remainder(cfg, epochs)
        return stock(cfg, trainer, task, epochs)

    return train


def _check_remainder(cfg: Any, epochs: Any) -> None:
    """Refuses an epoch in which --skip-remainder-batch leaves no update.

    Raises:
        UserError: naming the batches and --update-freq
    """
    freq = cfg.optimization.update_freq
    wanted = freq[min(epochs.next_epoch_idx, len(freq)) - 1]
    if cfg.optimization.skip_remainder_batch and len(epochs) < wanted:
        raise UserError(
            f"--skip-remainder-batch: an epoch has {len(epochs)} batches for each process, fewer "
            f"than --update-freq {wanted}, and nothing would be trained; lower --update-freq or "
            "--max-tokens, or leave the flag out."
        )


def _ended(cfg: Any, trainer: Any) -> str | None:
    """Returns the reason why the run has ended already; None when updates are left."""
    updates, hours = trainer.get_num_updates(), cfg.optimization.stop_time_hours
    if updates >= (cfg.optimization.max_update or math.inf):
        return f"{updates} are made (--max-update {cfg.optimization.max_update})"
    if updates and 0 < hours < trainer.cumulative_training_time() / 3600:
        return f"it has trained for --stop-time-hours {hours}"
    if patience.is_over(cfg.checkpoint.patience):
        return f"it has stopped early (--patience {cfg.checkpoint.patience})"
    return None


@replaces(
    "fairseq_cli.train:validate_and_save",
    "3022f920884a",
    reason="what is validated between two saved checkpoints (--validate-interval-updates, "
    "--save-interval) is not saved however good, and checkpoint_best.pt is not the best",
    since="fairseq 0.12.2",
    test="tests/system/test_continuing.py",
)
def save_the_best(stock: Callable[..., Any]) -> Callable[..., Any]:
    def validate_and_save(
        cfg: Any, trainer: Any, task: Any, epochs: Any, subsets: list[str], end_of_epoch: bool
    ) -> Any:
        losses, stops = stock(cfg, trainer, task, epochs, subsets, end_of_epoch)
        if losses[0] is not None and not _saved(cfg, trainer, epochs, stops, end_of_epoch):
            best = getattr(checkpoint_utils.save_checkpoint, "best", None)
            highest = cfg.checkpoint.maximize_best_checkpoint_metric
            better = best is None or (losses[0] > best if highest else losses[0] < best)
            if better or cfg.checkpoint.keep_best_checkpoints > 0:
                checkpoint_utils.save_checkpoint(cfg.checkpoint, trainer, epochs, losses[0])
        return losses, stops

    return validate_and_save


def _saved(cfg: Any, trainer: Any, epochs: Any, stops: bool, end_of_epoch: bool) -> bool:
    """Returns True when fairseq has saved a checkpoint after this update."""
    every, updates = cfg.checkpoint.save_interval_updates, trainer.get_num_updates()
    return (
        stops
        or (end_of_epoch and epochs.epoch % cfg.checkpoint.save_interval == 0)
        or (every > 0 and updates % every == 0 and updates >= cfg.dataset.validate_after_updates)
    )
