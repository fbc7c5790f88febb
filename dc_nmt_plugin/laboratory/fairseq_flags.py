"""Command lines of fairseq's programs: parsed, and flags that a command refuses."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from fairseq import options
from fairseq.models import ARCH_MODEL_REGISTRY

from .. import registration as registration  # adds the flags of this plugin to fairseq's parsers
from ..errors import UsageError, did_you_mean
from ..flags import SHORT, WITHOUT_EFFECT, flag_name, flags_of
from ..models.options import read_config

TRAIN, GENERATE = "fairseq-train", "fairseq-generate"


def parse_flags(program: str, words: Sequence[str]) -> Any:
    """Parses a command line.

    Args:
        program: :data:`TRAIN` or :data:`GENERATE`
        words: without the program's name

    Raises:
        UsageError: a flag that is unknown, or a value that is not allowed
        ConfigError: a flag of a model that has no effect, or a value that the model refuses
    """
    command_line = sys.argv
    # fairseq takes --user-dir from there: ours takes more, and a script's may be for other things
    sys.argv = command_line[:1]
    try:
        train = program == TRAIN
        parser = options.get_training_parser() if train else options.get_generation_parser()
    finally:
        sys.argv = command_line

    def refuse(message: str) -> NoReturn:
        start = "unrecognized arguments: "
        if message.startswith(start):
            word = message.removeprefix(start).split()[0].partition("=")[0]
            hint = did_you_mean(word, parser._option_string_actions)
            message = f"{word}: {program} has no such flag.{hint}"
        raise UsageError(message.removeprefix("argument "))

    parser.error = refuse  # one sentence instead of two pages of fairseq's usage
    args = options.parse_args_and_arch(parser, list(words))
    config = getattr(ARCH_MODEL_REGISTRY.get(args.arch), "config_class", None) if train else None
    if config is not None:  # of this package, not fairseq's own
        read_config(args, config).check()
    return args


def refuse_flags(flags: Sequence[str], set_here: str) -> None:
    """Refuses flags for a loaded model that would be lost: of the kind `set_here`, or idle.

    Raises:
        UserError: naming the flag
    """
    for word in flags:
        name = SHORT.get(word, word).partition("=")[0]
        if name in map(flag_name, flags_of(set_here)):
            raise UsageError(f"{name}: this command sets it by itself.")
        if name in map(flag_name, flags_of(WITHOUT_EFFECT)):
            raise UsageError(f"{name}: fairseq-generate has it, this command has not.")
