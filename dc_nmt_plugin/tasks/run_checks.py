"""What can be known to fail before a training starts."""

from __future__ import annotations

import os
from typing import Any

import torch

from ..checkpoints.loading import LAST, checkpoint_architecture, newest_readable
from ..errors import ConfigError

# the memory-efficient ones first: fairseq switches on the plain ones with them
_HALF_PRECISION = ("memory_efficient_fp16", "memory_efficient_bf16", "fp16", "bf16")


def check_training_run(args: Any) -> None:
    """Check the command line of ``fairseq-train``, as far as it reaches the model.

    Args:
        args: the model's flags; for architectures of this package all flags of the command

    Raises:
        ConfigError: half precision on a CPU; a save folder with another architecture's checkpoints
    """
    flags = vars(args) if hasattr(args, "__dict__") else {}
    problems = []
    on_cpu = flags.get("cpu", False) or not torch.cuda.is_available()
    half = [name for name in _HALF_PRECISION if flags.get(name)]
    if on_cpu and half:
        problems.append(
            f"--{half[0].replace('_', '-')}: half precision needs a GPU, and this run is on the "
            "CPU; leave the flag out (float32), or use --amp."
        )
    problems += _save_folder_problems(flags)
    if problems:
        raise ConfigError(problems)


def refuse_in_training(**flags: object) -> None:
    """Flags for decoding would change what ``--eval-bleu`` measures, or the model in training.

    Args:
        flags: name → value; empty ones were not given

    Raises:
        ConfigError: naming those that were given
    """
    given = [f"--{name.replace('_', '-')}" for name, value in flags.items() if value]
    if given:
        raise ConfigError(
            [f"{flag}: is for decoding a trained model, not for training." for flag in given]
        )


def _save_folder_problems(flags: dict[str, Any]) -> list[str]:
    folder, arch = flags.get("save_dir"), flags.get("arch")
    if not folder or not arch or flags.get("restore_file") != LAST:
        return []
    path = os.path.join(folder, LAST)
    if not os.path.isfile(path):
        return []
    there = checkpoint_architecture(newest_readable(path))
    if there in (None, arch):
        return []
    return [
        f"--save-dir {folder}: holds checkpoints of {there!r}, not of {arch!r}; give this run a "
        "folder of its own, or start from them with --finetune-from-model."
    ]
