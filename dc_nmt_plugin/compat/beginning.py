"""Changes of how a training run begins: what is refused, and the checkpoint that it goes on from.

They change one function, in this order: the last one of them runs first.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import torch
from fairseq.file_io import PathManager
from fairseq.logging import metrics
from fairseq.tasks.translation import TranslationTask

from ..checkpoints.loading import LAST
from ..checkpoints.names import OF_TRAINING
from ..errors import ConfigError, UserError, notify
from ..flags import setting_name
from ..runs.record import CHECKPOINTS, CURVE, RECORD, is_curve, record_of, run_folder
from .change import Function, before, replace
from .programs import contradictions, widths_of_the_encoder_alone

logger = logging.getLogger(__name__)

SPEEDS = ("wps", "wpb", "bsz")  # of the aggregator, with validation
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
    reason="a run whose checkpoint_last.pt is missing, because the disk was full, starts anew",
    test="tests/system/test_second_round.py",
    after="refuse_a_missing_checkpoint",
)
def find_the_last_checkpoint(cfg: Any, trainer: Any, **_: Any) -> None:
    if not cfg.no_save and cfg.restore_file == LAST:
        _restore_last(cfg.save_dir, trainer.checkpoint_suffix)


def _restore_last(folder: str, suffix: str) -> None:
    """Makes the newest checkpoint of a folder its last one, if that one is missing."""
    last = Path(folder, LAST.replace(".pt", f"{suffix}.pt"))
    if last.exists():
        return
    saved = _saved_checkpoints(Path(folder), suffix)
    if saved:
        newest = max(saved, key=lambda path: path.stat().st_mtime)
        logger.info(f"{last} is missing: continuing from {newest.name}")
        part = last.with_name(f"{last.name}.{os.getpid()}")  # several processes do the same
        shutil.copyfile(newest, part)
        part.replace(last)


def _saved_checkpoints(folder: Path, suffix: str) -> list[Path]:
    """Returns the checkpoints that a training run has saved in a folder."""
    name = OF_TRAINING + re.escape(f"{suffix}.pt")
    return [path for path in folder.glob("*.pt") if re.fullmatch(name, path.name)]


@before(
    BEGINNING,
    reason="two training runs in one folder mix their checkpoints and their records, and a new run "
    "writes over files in its folder that are not its own",
    test="tests/system/test_folders.py",
    after="find_the_last_checkpoint",
)
def one_training_a_folder(cfg: Any, trainer: Any, **_: Any) -> None:
    if not cfg.no_save and trainer.data_parallel_rank == 0:
        lock_folder(cfg.save_dir, trainer.checkpoint_suffix)
        if is_recorded(trainer):
            _refuse_to_write_over(Path(cfg.save_dir), trainer.checkpoint_suffix)


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


def _refuse_to_write_over(save_dir: Path, suffix: str) -> None:
    """Refuses a training run that would replace a file or a record that is not its own.

    Raises:
        UserError: a curve that no run wrote, the record of another run, or scores without their run
    """
    folder = run_folder(save_dir)
    curve = folder / CURVE
    if curve.is_file() and not is_curve(curve):
        raise UserError(
            f"{curve}: no training run wrote this file, and this run would replace it; move it, or "
            "take another --save-dir."
        )
    record = None if _saved_checkpoints(save_dir, suffix) else record_of(folder)
    if record is None:  # the run continues, or nothing is here
        return
    elsewhere = folder / CHECKPOINTS if save_dir == folder else folder
    if _saved_checkpoints(elsewhere, suffix):
        raise UserError(
            f"--save-dir {save_dir}: {folder / RECORD} is the record of the training whose "
            f"checkpoints are in {elsewhere}; take another folder."
        )
    if any(decoding.scores for decoding in record.decodings):
        raise UserError(
            f"--save-dir {save_dir}: {folder / RECORD} has the scores of a training whose "
            "checkpoints are gone, and a new training would replace it; move it, or take another "
            "folder."
        )


@before(
    BEGINNING,
    reason="flags that contradict each other are taken, such as --maximize-best-checkpoint-metric "
    "of a loss, and a task cannot check a whole training run before it begins",
    test="tests/system/test_second_round.py",
    after="one_training_a_folder",
)
def refuse_contradictions(_: Any, trainer: Any, **__: Any) -> None:
    problems = [*_names_that_are_not_utf8(trainer.cfg), *contradictions(trainer.cfg)]
    if problems:
        raise ConfigError(problems)
    if trainer.is_data_parallel_master:
        for sentence in widths_of_the_encoder_alone(trainer.cfg.model):
            logger.warning(sentence)
    check_training = getattr(trainer.task, "check_training", None)  # of this plugin's tasks
    if check_training is not None:
        check_training(trainer)


def _names_that_are_not_utf8(cfg: Any) -> Iterator[str]:
    """Yields a sentence for each folder whose name cannot be written into a record."""
    folders = {"--save-dir": cfg.checkpoint.save_dir, "data folder": getattr(cfg.task, "data", "")}
    for about, folder in folders.items():
        try:
            os.path.abspath(str(folder)).encode()
        except UnicodeEncodeError:
            yield f"{about} {folder!a}: the name is not UTF-8; rename the folder."


@replace(
    BEGINNING,
    reason="the name of --best-checkpoint-metric is looked up after the first validation, where a "
    "wrong one ends the run with a KeyError, and that of a speed keeps the slowest model",
    test="tests/system/test_second_round.py",
    after="refuse_contradictions",
)
def refuse_an_unknown_metric(load: Function) -> Function:
    def load_checkpoint(cfg: Any, trainer: Any, **kwargs: Any) -> Any:
        state, epochs = load(cfg, trainer, **kwargs)  # makes the batches
        metric = cfg.best_checkpoint_metric
        if metric != "loss" and not trainer.cfg.dataset.disable_validation:
            names = _validation_metrics(trainer, epochs)
            if metric not in names:
                raise ConfigError(
                    f"--best-checkpoint-metric {metric}: no validation of this run logs it; choose "
                    f"from {', '.join(names)}."
                )
        return state, epochs

    return load_checkpoint


def _validation_metrics(trainer: Any, epochs: Any) -> list[str]:
    """Returns the names that a validation logs: those of a batch, and BLEU if it is asked for."""
    model, criterion, task = trainer.get_model(), trainer.get_criterion(), trainer.task
    batch, _ = trainer._prepare_sample(epochs.first_batch)
    modes = [(module, module.training) for module in (model, criterion)]
    with torch.no_grad(), metrics.aggregate(new_root=True) as logged:
        for module, _ in modes:
            module.eval()
        _, _, numbers = criterion(model, batch)
        task.reduce_metrics([numbers], criterion)
    for module, training in modes:
        module.train(training)
    names = [
        name
        for name in logged.get_smoothed_values()
        if not name.startswith("_") and name not in SPEEDS
    ]
    if getattr(task.cfg, "eval_bleu", False):
        names += ["bleu", *(f"bleu_aux{layer}" for layer in getattr(task, "bleu_layers", ()))]
    return names


@replace(
    {"fairseq_cli.hydra_train:_hydra_main": "25d3ca303e56"},
    reason="fairseq-hydra-train ends with Hydra's traceback where fairseq-train has one sentence",
    test="tests/system/test_second_round.py",
)
def end_hydra_with_a_sentence(stock: Function) -> Function:
    def main(cfg: Any, **kwargs: Any) -> Any:
        try:
            return stock(cfg, **kwargs)
        except UserError as error:
            notify(*f"error: {_with_settings(str(error), cfg)}".split("\n"))
            sys.exit(1)

    return main


def _with_settings(sentence: str, cfg: Any) -> str:
    """Returns a sentence with Hydra's settings, such as ``model.encoder_layers``, for its flags."""

    def setting(flag: re.Match[str]) -> str:
        name = setting_name(flag[0])
        groups = [group for group in cfg if name in (cfg[group] or ())]
        return f"{groups[0]}.{name}" if groups else flag[0]

    return re.sub(r"--[a-z][a-z0-9-]*[a-z0-9]", setting, sentence)
