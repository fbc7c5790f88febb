"""Changes of how a training run begins: what is refused.

They change one function, in this order: the last one of them runs first.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from fairseq.file_io import PathManager
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks.translation import TranslationTask

from ..checkpoints.names import LAST
from ..errors import ConfigError, UserError, did_you_mean
from ..flags import MECHANISM_FOLDERS
from ..runs.record import RECORD, record_of, run_folder
from ..text.segmentation import CONTINUED, SUBWORD_NMT, piece_kind
from .change import before
from .programs import idle_choices

logger = logging.getLogger(__name__)

BEGINNING = {"fairseq.checkpoint_utils:load_checkpoint": "30f7c43ad0e2"}
_locks: list[IO[Any]] = []  # of this process; the kernel frees them when it ends


def is_in(path: str, folder: str) -> bool:
    """Returns True for the checkpoint of a run that continues in the folder where it began."""
    return os.path.realpath(os.path.dirname(path)) == os.path.realpath(folder)


@before(
    BEGINNING,
    reason="without the file of --restore-file, a run starts from new weights, and nothing says so",
    test="tests/system/test_continuing.py",
)
def refuse_a_missing_checkpoint(cfg: Any, trainer: Any, **_: Any) -> None:
    path = cfg.restore_file.replace(".pt", f"{trainer.checkpoint_suffix}.pt")
    in_own_folder = cfg.restore_file == LAST or is_in(path, cfg.save_dir)  # empty at first
    if not in_own_folder and not PathManager.isfile(path):
        raise UserError(f"--restore-file {path}: no such file.")


@before(
    BEGINNING,
    reason="two training runs at once in one folder mix their checkpoints, and a new run replaces "
    "the record of an older one with its scores",
    test="tests/system/test_folders.py",
    after="refuse_a_missing_checkpoint",
)
def one_training_a_folder(cfg: Any, trainer: Any, **_: Any) -> None:
    if not cfg.no_save and trainer.data_parallel_rank == 0:
        lock_folder(cfg.save_dir, trainer.checkpoint_suffix)
        if is_recorded(trainer):
            _refuse_to_lose_scores(cfg, trainer.checkpoint_suffix)


def lock_folder(save_dir: str, suffix: str = "") -> None:
    """Locks the folder of a run for the rest of this process.

    Args:
        save_dir: fairseq's ``--save-dir``, in the folder of the run or that folder itself
        suffix: of the names of this process's checkpoints

    Raises:
        UserError: another process trains in it
    """
    folder = run_folder(Path(save_dir))
    try:
        # not .lock, which recipes hold while they start a training
        lock = open(folder / f".training{suffix}.lock", "a")  # noqa: SIM115  kept open
    except OSError:
        return  # another user's, in the folder of a group
    try:
        # not flock, which workers that outlive a killed run would hold
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        lock.close()
        raise UserError(
            f"--save-dir {save_dir}: another training is running in {folder}; take another folder, "
            "or wait for its end."
        ) from None
    except OSError as error:
        logger.warning(f"{folder} cannot be locked ({error.strerror}): start one training in it.")
    _locks.append(lock)


def is_recorded(trainer: Any) -> bool:
    """Returns True in the process that saves the checkpoints of a translation task, also fairseq's.

    A task without a pair of languages, such as back-translation from several ones, has no record.
    """
    saves = trainer.is_data_parallel_master and not trainer.cfg.checkpoint.no_save
    return saves and isinstance(trainer.task, TranslationTask) and all(languages_of(trainer.task))


def languages_of(task: Any) -> tuple[Any, Any]:
    """Returns source and target language of a task; None without."""
    # the task's own settings: fairseq finds languages that no flag names in the data folder
    return getattr(task.cfg, "source_lang", None), getattr(task.cfg, "target_lang", None)


def _refuse_to_lose_scores(cfg: Any, suffix: str) -> None:
    """
    Raises:
        UserError: the record in the folder has scores, and a run begins anew there
    """
    last = Path(cfg.save_dir, LAST.replace(".pt", f"{suffix}.pt"))
    if cfg.restore_file != LAST or last.exists():  # the run continues
        return
    folder = run_folder(Path(cfg.save_dir))
    record = record_of(folder)
    if record and any(decoding.scores for decoding in record.decodings):
        raise UserError(
            f"--save-dir {cfg.save_dir}: {folder / RECORD} has the scores of a training whose "
            f"{last.name} is gone, and a new training would replace it; move it, or take another "
            "folder."
        )


@before(
    BEGINNING,
    reason="some flags make a training useless without a word, such as "
    "--maximize-best-checkpoint-metric of a loss, or let each process of torchrun train alone, and "
    "a task cannot check a whole training run before it begins",
    test="tests/system/test_training_flags.py",
    after="one_training_a_folder",
)
def refuse_contradictions(_: Any, trainer: Any, **__: Any) -> None:
    problems = [*contradictions(trainer.cfg), *_of_validation_bleu(trainer.task)]
    if problems:
        raise ConfigError(problems)
    check_training = getattr(trainer.task, "check_training", None)  # of this plugin's tasks
    if check_training is not None:
        check_training(trainer)


def contradictions(cfg: Any) -> list[str]:
    """Returns a sentence for each setting that keeps the wrong model, or changes nothing."""
    return [
        *_of_processes(cfg.distributed_training),
        *_of_best_checkpoint(cfg.checkpoint),
        *_of_schedule(cfg),
        *_of_model(cfg.model),
    ]


def _of_processes(cfg: Any) -> Iterator[str]:
    started = int(os.environ.get("WORLD_SIZE") or 1)  # by torchrun
    if cfg.distributed_world_size == 1 < started:  # the GPUs of a machine; fairseq asks no further
        yield (
            f"--distributed-world-size: is 1, and torchrun has started {started} processes, of "
            f"which each would train alone; give --distributed-world-size {started}."
        )


def _of_best_checkpoint(cfg: Any) -> Iterator[str]:
    metric, highest = cfg.best_checkpoint_metric, cfg.maximize_best_checkpoint_metric
    if highest and metric.endswith(("loss", "ppl")):
        yield (
            f"--maximize-best-checkpoint-metric: {metric} is better when it is lower; the worst "
            "model would be kept as the best."
        )
    if not highest and ("bleu" in metric or "accuracy" in metric):
        yield (
            f"--best-checkpoint-metric {metric}: is better when it is higher; give "
            "--maximize-best-checkpoint-metric too."
        )


def _of_schedule(cfg: Any) -> Iterator[str]:
    schedule, updates = cfg.lr_scheduler, cfg.optimization.max_update
    falls_to_zero = schedule and schedule._name == "polynomial_decay"
    falls_to_zero = falls_to_zero and not schedule.end_learning_rate
    if falls_to_zero and 0 < schedule.total_num_update < updates:
        yield (
            f"--total-num-update: {schedule.total_num_update:g} is below --max-update {updates}; "
            "the rate would be 0 from then on."
        )


def _of_validation_bleu(task: Any) -> Iterator[str]:
    joined = getattr(task.cfg, "eval_bleu_remove_bpe", None)
    if joined and isinstance(task, TranslationTask):
        kind = piece_kind(task.target_dictionary)
        named = SUBWORD_NMT.joined_by if CONTINUED in joined else joined
        if kind not in ("none", named):
            yield (
                f"--eval-bleu-remove-bpe {joined}: the target text is in pieces of {kind}, so the "
                f"score would be of pieces; give --eval-bleu-remove-bpe {kind}."
            )


def _of_model(settings: Any) -> list[str]:
    """Returns a sentence for each of Hydra's settings that the model has not, or that is idle."""
    name = settings.get("_name") if isinstance(settings, Mapping) else None
    config = getattr(ARCH_MODEL_REGISTRY.get(name), "config_class", None)
    if config is None:  # another model, or flags, which are checked when they are parsed
        return []
    known = ["_name", MECHANISM_FOLDERS, *config.settings()]
    unknown = [
        f"model.{setting}: {name} has no such setting.{did_you_mean(setting, known)}"
        for setting in settings
        if setting not in known
    ]
    idle = idle_choices(settings).items()
    return unknown + [f"model.{setting}: {reason}" for setting, reason in idle]
