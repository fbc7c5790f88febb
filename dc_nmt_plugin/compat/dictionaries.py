"""A checkpoint is only used with the dictionaries and the model that it was trained with."""

from __future__ import annotations

import os
from typing import Any

from fairseq.models import ARCH_MODEL_REGISTRY

from ..checkpoints.dictionaries import check_further_folders, check_text, record_of_text
from ..checkpoints.loading import architecture_of, check_mechanisms, saved_settings
from ..checkpoints.loading import load_checkpoint as load_checkpoint_file
from ..checkpoints.mechanisms import check_code, explained_parameters, record_of_mechanisms
from ..errors import UserError
from ..flags import flag_name, value_of
from ..runs.differences import NOT_GIVEN, WHILE_CONTINUING, compared, differing
from .beginning import is_in
from .change import Function, before, replace
from .continuing import LOADING, SAVING


@replace(
    {"fairseq.checkpoint_utils:load_model_ensemble_and_task": "8eb71b6f0a91"},
    reason="with other dictionaries of the same size, translations are wrong words; with another "
    "option of a mechanism, its default translates",
    test="tests/system/test_dictionaries.py",
    loading=True,
)
def same_dictionaries(stock: Function) -> Function:
    def load_model_ensemble_and_task(
        filenames: list[str], arg_overrides: Any = None, task: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        states = {
            path: load_checkpoint_file(path, mmap=True)
            for path in filenames
            if os.path.isfile(path)
        }
        for path, state in states.items():
            check_mechanisms(saved_settings(state, "model"))  # fairseq fails without a reason
            check_code(path, state)
            if task is not None:  # parameters of another size would fail with torch's words
                check_text(path, state, task)
        with explained_parameters(filenames):
            models, cfg, its_task = stock(filenames, arg_overrides, task, *args, **kwargs)
        for path, state in states.items():
            check_text(path, state, its_task)
        return models, cfg, its_task

    return load_model_ensemble_and_task


@replace(
    {**SAVING, **LOADING},
    reason="a checkpoint does not say which dictionaries it was trained with, and a run goes on "
    "with others of the same size",
    test="tests/system/test_dictionaries.py",
    after="continue_the_plateau",
)
def same_dictionaries_in_training(save: Function, load: Function) -> tuple[Function, ...]:
    def save_checkpoint(self: Any, filename: str, extra_state: dict[str, Any]) -> Any:
        facts = {**record_of_text(self.task), **record_of_mechanisms(self.cfg.model)}
        return save(self, filename, {**extra_state, **facts})

    def load_checkpoint(self: Any, filename: str, *args: Any, **kwargs: Any) -> Any:
        check_further_folders(self.task)
        if os.path.isfile(filename):
            # --finetune-from-model and --restore-file may start from another direction
            continues = is_in(filename, self.cfg.checkpoint.save_dir)
            state = load_checkpoint_file(filename, mmap=True)
            check_text(filename, state, self.task, direction=continues)
        with explained_parameters([filename]):
            return load(self, filename, *args, **kwargs)

    return save_checkpoint, load_checkpoint


@before(
    LOADING,
    reason="a run goes on as another model with parameters of the same shapes",
    test="tests/system/test_dictionaries.py",
    after="same_dictionaries_in_training",
)
def same_architecture(trainer: Any, filename: str, *_: Any, **__: Any) -> None:
    save_dir = trainer.cfg.checkpoint.save_dir
    # --finetune-from-model and --restore-file may start from another architecture
    if os.path.isfile(filename) and is_in(filename, save_dir):
        state = load_checkpoint_file(filename, mmap=True)
        check_code(filename, state)
        differences = _differing_settings(saved_settings(state, "model"), trainer.cfg.model)
        if differences:
            raise UserError(
                f"--save-dir {save_dir}: holds checkpoints of a model with another "
                f"{', '.join(differences)}; give this run a folder of its own, or start from "
                "them with --finetune-from-model."
            )


def _differing_settings(saved: Any, model: Any) -> list[str]:
    """Returns the flags of a model that are not those of a checkpoint, as a sentence names them."""
    here, there = architecture_of(model), architecture_of(saved)
    differences = [f"--arch ({there!r}, not {here!r})"] if there not in (None, here) else []
    settings = (_settings_that_stay(here, settings) for settings in (saved, model))
    differences += [flag_name(setting.name) for setting in differing(*settings)]
    return differences


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
