"""A checkpoint is only used with the dictionaries and the architecture that it was trained with."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from fairseq.models import ARCH_MODEL_REGISTRY

from ..checkpoints.dictionaries import check_further_folders, check_text, record_of_text
from ..checkpoints.loading import architecture_of, load_checkpoint, saved_settings
from ..errors import UserError
from ..flags import flag_name, value_of
from ..runs.differences import NOT_GIVEN, WHILE_CONTINUING, compared, differing
from .change import Function, replace
from .continuing import is_in

# called with the trainer of a run that begins or continues
when_training_begins: list[Callable[[Any], None]] = []


@replace(
    {"fairseq.checkpoint_utils:load_model_ensemble_and_task": "8eb71b6f0a91"},
    reason="with other dictionaries of the same size, translations are wrong words",
    test="tests/system/test_dictionaries.py",
    loading=True,
)
def same_dictionaries(stock: Function) -> Function:
    def load_model_ensemble_and_task(
        filenames: list[str], arg_overrides: Any = None, task: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        # the embeddings are in the checkpoint, and their files may be gone
        overrides = {"encoder_embed_path": None, "decoder_embed_path": None}
        overrides.update(arg_overrides or {})
        if task is not None:  # parameters of another size would fail with torch's words
            _check_all(filenames, task)
        models, cfg, its_task = stock(filenames, overrides, task, *args, **kwargs)
        if task is None:
            _check_all(filenames, its_task)
        return models, cfg, its_task

    return load_model_ensemble_and_task


def _check_all(paths: list[str], task: Any) -> None:
    for path in paths:
        if os.path.isfile(path):
            check_text(path, load_checkpoint(path, mmap=True), task)


@replace(
    {
        "fairseq.trainer:Trainer.save_checkpoint": "49a930e8722b",
        "fairseq.trainer:Trainer.load_checkpoint": "c6d46e918710",
    },
    reason="a checkpoint does not say which dictionaries it was trained with; a run goes on with "
    "others of the same size, or as another model with parameters of the same shapes",
    test="tests/system/test_dictionaries.py",
)
def same_dictionaries_in_training(save: Function, load: Function) -> tuple[Function, ...]:
    def save_checkpoint(self: Any, filename: str, extra_state: dict[str, Any]) -> Any:
        return save(self, filename, {**extra_state, **record_of_text(self.task)})

    def load_checkpoint(self: Any, filename: str, *args: Any, **kwargs: Any) -> Any:
        check_further_folders(self.task)
        if os.path.isfile(filename):
            _check_checkpoint(self, filename)
        extra_state = load(self, filename, *args, **kwargs)
        for follow in when_training_begins:
            follow(self)
        return extra_state

    return save_checkpoint, load_checkpoint


def _check_checkpoint(trainer: Any, path: str) -> None:
    """Refuses a checkpoint of other text, or of another model if a run continues from it."""
    state = load_checkpoint(path, mmap=True)
    save_dir = trainer.cfg.checkpoint.save_dir
    # --finetune-from-model and --restore-file may start from another architecture and direction
    continues = is_in(path, save_dir)
    model, before = trainer.cfg.model, saved_settings(state, "model")
    here, there = architecture_of(model), architecture_of(before)
    differences = [f"--arch ({there!r}, not {here!r})"] if there not in (None, here) else []
    settings = (_settings_that_stay(here, saved) for saved in (before, model))
    differences += [flag_name(setting.name) for setting in differing(*settings)]
    if continues and differences:
        raise UserError(
            f"--save-dir {save_dir}: holds checkpoints of a model with another "
            f"{', '.join(differences)}; give this run a folder of its own, or start from them with "
            "--finetune-from-model."
        )
    check_text(path, state, trainer.task, direction=continues)


def _settings_that_stay(architecture: str | None, model: Any) -> dict[str, Any]:
    """Returns the settings of a model that its run may not change, by flag without dashes."""
    config = getattr(ARCH_MODEL_REGISTRY.get(architecture), "config_class", None)
    values = {}
    for name, setting in config.settings().items() if config else ():
        value = value_of(model, name)
        if value is None:  # checkpoints of earlier versions lack settings, which had the default
            value = setting.default
        values[name.replace("_", "-")] = NOT_GIVEN if value is None else value
    return compared(values, WHILE_CONTINUING)
