"""Checks the flags of a fairseq command in one place, before fairseq starts."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..checkpoints.loading import LAST
from ..errors import ConfigError
from ..flags import flag_name as flag
from .command import Command
from .decoding import decoding_problems, override_problems
from .ranges import BPE_FILES
from .training import family_problems, idle_problems, missing_problems, text_problems
from .values import (
    limit_problems,
    list_problems,
    pair_problems,
    precision_problems,
    range_problems,
)

_CHECKS = (
    *(range_problems, list_problems, pair_problems, precision_problems, limit_problems),
    *(family_problems, idle_problems, text_problems, decoding_problems, override_problems),
)


def check_command(command: Command, *, starts: bool = True) -> None:
    """Refuses flags that must fail, or that would do something else than requested.

    Args:
        command: parsed
        starts: True for a program; False when Python only needs the configuration

    Raises:
        ConfigError: one sentence a problem, each naming the flag, its value and what is valid
    """
    problems = [problem for check in _CHECKS for problem in check(command)]
    problems += _file_problems(command)
    if starts:
        problems += missing_problems(command)
    if problems:
        raise ConfigError(problems)


def _file_problems(command: Command) -> Iterator[str]:
    for name in ("finetune_from_model", "lm_path", "quantization_config_path", "encoder_embed_path",
                 "decoder_embed_path"):  # fmt: skip
        path = command.set(name)
        if path and not os.path.isfile(path):
            yield f"{flag(name)}: {path}: no such file."
    restore = command.set("restore_file")
    if command.training and restore and restore != LAST and not os.path.isfile(restore):
        yield (
            f"--restore-file: {restore}: no such file; without it, training would start from "
            "random weights."
        )
    yield from _separator_problems(command)
    needed = BPE_FILES.get(command.set("bpe") or "")
    if needed and not os.path.isfile(command.set(needed) or ""):
        yield f"{flag(needed)}: --bpe {command.set('bpe')} needs it; {command.set(needed)} is none."
    source = command.set("input")
    if command.interactive and source and source != "-" and not os.path.isfile(source):
        yield f"--input: {source}: no such file."
    if command.set("log_file"):
        folder = os.path.dirname(os.path.abspath(command.set("log_file")))
        if not os.path.isdir(folder):
            yield f"--log-file: {folder}: no such folder."


def _separator_problems(command: Command) -> Iterator[str]:
    """Yields a sentence for a path with a colon, at which fairseq splits --path."""
    path, save = command.set("path") or "", command.set("save_dir") or ""
    if os.pathsep in path and os.path.isfile(path):
        yield (
            f"--path: {path}: has a {os.pathsep!r} in its name, at which fairseq separates the "
            "checkpoints of an ensemble; rename the folder or the file."
        )
    if command.training and os.pathsep in save and "://" not in save:
        yield (
            f"--save-dir: {save}: has a {os.pathsep!r} in its name, at which fairseq-generate "
            "--path separates the checkpoints of an ensemble; take another name."
        )


def subsets(command: Command) -> dict[str, str]:
    """Returns name of each subset that the command reads → its flag."""
    found: dict[str, str] = {}
    if command.interactive:
        return found
    if command.generating or "output_word_probs" in command.flags:  # fairseq-eval-lm
        return {command.set("gen_subset") or "test": "--gen-subset"}
    if command.training:
        found[command.set("train_subset") or "train"] = "--train-subset"
    if not command.set("disable_validation"):
        names = (command.set("valid_subset") or "valid").split(",")
        found.update(dict.fromkeys(names, "--valid-subset"))
    return found
