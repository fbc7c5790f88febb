"""The measured systems as command lines of fairseq: an architecture, or fairseq's own model."""

from __future__ import annotations

import shlex
from typing import Any

import dc_nmt_plugin

STOCK = "stock"  # fairseq's transformer, of the size of the first architecture
CONTROL = "stock again"  # the same once more: how far two equal systems differ by chance
USER_DIR = dc_nmt_plugin.__path__[0]

# settings that make fairseq's transformer as large as an architecture of this package
SIZE = [
    "dropout",
    "attention_dropout",
    "activation_dropout",
    "share_all_embeddings",
    "share_decoder_input_output_embed",
]
for _side in ("encoder", "decoder"):
    for _name in ("layers", "embed_dim", "ffn_embed_dim", "attention_heads"):
        SIZE.append(f"{_side}_{_name}")

# what a training run needs beside its model; the learning rate is too low to end sentences early
TRAINING = shlex.split(
    "--optimizer adam --adam-betas '(0.9, 0.98)' --lr 1e-5 --label-smoothing 0.1 --clip-norm 1.0 "
    "--seed 1"
)


def training_words(system: str, like: str, data: str) -> list[str]:
    """Returns the words of ``fairseq-train`` that choose data, model, task and criterion.

    The system is an architecture with flags behind it, STOCK, CONTROL, or ``transformer`` for
    fairseq's own model with this plugin. STOCK has the size of the architecture `like`.
    """
    arch, *flags = shlex.split(system)
    if system in (STOCK, CONTROL) or arch == "transformer":
        flags = flags if arch == "transformer" else []
        words = ["--arch", "transformer", "--task", "translation"]
        words += ["--criterion", "label_smoothed_cross_entropy", *size_flags(like, data)]
        return [data, *words, *flags, *TRAINING]
    from dc_nmt_plugin.models.presets import architectures

    if arch not in architectures():
        raise SystemExit(f"{arch}: no such architecture; dc-nmt arch-flags lists all")
    family = architectures()[arch].family
    words = ["--arch", arch, "--task", family.task, "--criterion", family.criterion, *flags]
    return [data, *words, *TRAINING]


def task_of(system: str) -> str:
    """Returns the name of the task that translates with a system."""
    words = training_words(system, system, "DATA")
    return words[words.index("--task") + 1]


def parse(words: list[str]) -> Any:
    """Returns the parsed command line of ``fairseq-train``."""
    from fairseq import options

    import dc_nmt_plugin.registration  # noqa: F401
    from dc_nmt_plugin import compat

    compat.apply(all_of_them=True)  # as in fairseq's programs
    return options.parse_args_and_arch(options.get_training_parser(), words)


def size_flags(like: str, data: str) -> list[str]:
    """Returns the flags that give fairseq's transformer the size of an architecture."""
    args = parse(training_words(like, like, data))
    if not hasattr(args, "encoder_ffn_embed_dim"):
        raise SystemExit(f"{like}: is no Transformer, so fairseq has no model of its size")
    words = []
    for name in SIZE:
        flag, value = f"--{name.replace('_', '-')}", getattr(args, name)
        if value is True:
            words.append(flag)
        elif value not in (None, False):
            words += [flag, str(value)]
    return words
