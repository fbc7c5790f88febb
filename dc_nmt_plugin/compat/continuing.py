"""Changes after which a run that was stopped and continued equals an unbroken run.

They stand in the order of application: of two changes of one function, the later runs first.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
from pathlib import Path
from typing import IO, Any

from fairseq.file_io import PathManager
from fairseq.optim.lr_scheduler.reduce_lr_on_plateau import ReduceLROnPlateauLRSchedule

from ..checkpoints.loading import LAST
from ..checkpoints.names import OF_TRAINING
from ..errors import ConfigError, UserError
from .change import Function, program_module, replace
from .programs import contradictions

logger = logging.getLogger(__name__)

PATIENCE = "patience"  # in a checkpoint's extra_state
BAD_EPOCHS = "num_bad_epochs"  # in the state of a plateau schedule; fairseq ignores both
_locks: list[IO[Any]] = []  # of this process; the kernel frees them when it ends


def _patience_count() -> dict[str, Any]:
    """Returns the count of --patience, which fairseq keeps as attributes of its function."""
    return vars(program_module("fairseq_cli.train", load=True).should_stop_early)


def is_in(path: str, folder: str) -> bool:
    """Returns True for the checkpoint of a run that continues in the folder where it began."""
    return os.path.realpath(os.path.dirname(path)) == os.path.realpath(folder)


@replace(
    {
        "fairseq.trainer:Trainer.save_checkpoint": "49a930e8722b",
        "fairseq.trainer:Trainer.load_checkpoint": "c6d46e918710",
        "fairseq.optim.lr_scheduler.reduce_lr_on_plateau:"
        "ReduceLROnPlateauLRSchedule.state_dict": "4d6e0955119c",
        "fairseq.optim.lr_scheduler.reduce_lr_on_plateau:"
        "ReduceLROnPlateauLRSchedule.load_state_dict": "46d72960564a",
    },
    reason="a run that is stopped and continued starts to count --patience and --lr-patience anew, "
    "the latter without its last validation, and lowers the learning rate too late; after "
    "--restore-file, the best value of another run counts, and checkpoint_best.pt is not saved",
    test="tests/system/test_continuing.py",
)
def continue_the_counts(
    save: Function, load: Function, save_schedule: Function, restore_schedule: Function
) -> tuple[Function, ...]:
    def save_checkpoint(self: Any, filename: str, extra_state: dict[str, Any]) -> Any:
        count = _patience_count()
        if "best" in count:  # a validation was counted
            patience = {"best": count["best"], "num_runs": count["num_runs"]}
            extra_state = {**extra_state, PATIENCE: patience}
        return save(self, filename, extra_state)

    def state_dict(self: Any) -> dict[str, Any]:
        return {**save_schedule(self), BAD_EPOCHS: self.lr_scheduler.num_bad_epochs}

    def load_state_dict(self: Any, state: dict[str, Any]) -> None:
        restore_schedule(self, state)
        self.lr_scheduler.num_bad_epochs = state.get(BAD_EPOCHS, 0)

    def load_checkpoint(
        self: Any,
        filename: str,
        reset_optimizer: bool = False,
        reset_lr_scheduler: bool = False,
        optimizer_overrides: Any = None,
        reset_meters: bool = False,
    ) -> Any:
        resets = (reset_optimizer, reset_lr_scheduler, optimizer_overrides, reset_meters)
        state = load(self, filename, *resets)
        if not state or reset_optimizer:
            return state
        cfg = self.cfg.checkpoint
        if not reset_meters and is_in(filename, cfg.save_dir):
            _patience_count().update(state.get(PATIENCE) or {})
        elif not reset_meters and "best" in state:
            logger.info(
                f"{filename} is of another folder: its best {cfg.best_checkpoint_metric} "
                f"({state['best']:.3f}) does not count here; the next validation is the best"
            )
            del state["best"]  # fairseq would take it over
        # a schedule that was reset is at its first update, or has not counted these epochs
        was_reset = reset_lr_scheduler or cfg.reset_dataloader or not self.get_num_updates()
        if isinstance(self.lr_scheduler, ReduceLROnPlateauLRSchedule) and not was_reset:
            epochs, loss = state["train_iterator"], state.get("val_loss")
            # an epoch's checkpoint is saved before the schedule sees its validation
            if epochs["iterations_in_epoch"] == 0 and loss is not None:
                self.lr_step(epochs["epoch"] - 1, loss)
        return state

    return save_checkpoint, load_checkpoint, state_dict, load_state_dict


@replace(
    {"fairseq.checkpoint_utils:load_checkpoint": "30f7c43ad0e2"},
    reason="two training runs in one folder mix their checkpoints; without checkpoint_last.pt (the "
    "disk was full) or that of --restore-file, a run starts anew; flags that contradict each other "
    "are taken, such as --maximize-best-checkpoint-metric of a loss",
    test="tests/system/test_second_round.py",
)
def begin_safely(load: Function) -> Function:
    def load_checkpoint(cfg: Any, trainer: Any, **kwargs: Any) -> Any:
        problems = contradictions(trainer.cfg)
        if problems:
            raise ConfigError(problems)
        if not cfg.no_save:
            if trainer.data_parallel_rank == 0:
                lock_folder(cfg.save_dir, trainer.checkpoint_suffix)
            if cfg.restore_file == LAST:
                _restore_last(cfg.save_dir, trainer.checkpoint_suffix)
        path = cfg.restore_file.replace(".pt", f"{trainer.checkpoint_suffix}.pt")
        in_own_folder = cfg.restore_file == LAST or is_in(path, cfg.save_dir)  # empty at first
        if not in_own_folder and not PathManager.isfile(path):
            raise UserError(f"--restore-file {path}: no such file.")
        return load(cfg, trainer, **kwargs)

    return load_checkpoint


def lock_folder(folder: str, suffix: str = "") -> None:
    """Locks a folder for the rest of this process, for checkpoints with this suffix of their names.

    Raises:
        UserError: another process trains in it
    """
    try:
        lock = open(os.path.join(folder, f".lock{suffix}"), "a")  # noqa: SIM115  kept open
    except OSError:
        return  # another user's, in the folder of a group
    try:
        # not flock, which workers that outlive a killed run would hold
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        lock.close()
        raise UserError(
            f"--save-dir {folder}: another training is running in it; take another folder, or wait "
            "for its end."
        ) from None
    except OSError as error:
        logger.warning(f"{folder} cannot be locked ({error.strerror}): start one training in it.")
    _locks.append(lock)


def _restore_last(folder: str, suffix: str) -> None:
    """Makes the newest checkpoint of a folder its last one, if that one is missing."""
    last = Path(folder, LAST.replace(".pt", f"{suffix}.pt"))
    if last.exists():
        return
    name = OF_TRAINING + re.escape(f"{suffix}.pt")
    saved = [path for path in Path(folder).glob("*.pt") if re.fullmatch(name, path.name)]
    if saved:
        newest = max(saved, key=lambda path: path.stat().st_mtime)
        logger.info(f"{last} is missing: continuing from {newest.name}")
        part = last.with_name(f"{last.name}.{os.getpid()}")  # several processes do the same
        shutil.copyfile(newest, part)
        part.replace(last)


@replace(
    {
        "fairseq.tasks.fairseq_task:FairseqTask.get_batch_iterator": "07e39c9b6183",
        "fairseq.tasks.language_modeling:LanguageModelingTask.can_reuse_epoch_itr": "4c8cf097cc23",
    },
    reason="a continued run trains on other batches than an unbroken one; a language model repeats "
    "the batches of its first epoch; loaders of past epochs leave their workers running",
    since="fairseq 0.12.2; fairseq-fixed 0.12.3.1 for the workers",
    test="tests/system/test_continuing.py",
)
def compose_as_at_the_start(stock: Function, _: Function) -> tuple[Function, ...]:
    def get_batch_iterator(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        uncached = kwargs.get("disable_iterator_cache") or kwargs.get("update_epoch_batch_itr")
        if "epoch" in kwargs and not uncached and self.can_reuse_epoch_itr(dataset):
            # an unbroken run has composed its batches in epoch 1; the state that is loaded into
            # the iterator has the real epoch
            kwargs["epoch"] = 1
        epochs = stock(self, dataset, *args, **kwargs)
        if self.dataset_to_epoch_iter.get(dataset) is not epochs:  # for one epoch only
            # each worker has a copy of all memory that training has overwritten since
            epochs.persistent_workers = False
            # without a consumer's thread, a loader does not stop its workers after the last batch,
            # and later waits five seconds for each worker
            epochs.buffer_size = max(epochs.buffer_size, 1)
        return epochs

    def can_reuse_epoch_itr(self: Any, dataset: Any) -> bool:
        return False

    return get_batch_iterator, can_reuse_epoch_itr


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
    most = cfg.optimization.max_update
    if 0 < most <= updates:
        return f"{updates} are made (--max-update {most})"
    hours = cfg.optimization.stop_time_hours
    if updates and 0 < hours < trainer.cumulative_training_time() / 3600:
        return f"it has trained for --stop-time-hours {hours}"
    patience = cfg.checkpoint.patience
    if 0 < patience <= _patience_count().get("num_runs", 0):
        return f"it has stopped early (--patience {patience})"
    return None
