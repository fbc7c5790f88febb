"""Parses command lines of fairseq's programs, with one sentence for a wrong flag."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from fairseq import options

from ..errors import UsageError, did_you_mean

TRAIN, GENERATE = "fairseq-train", "fairseq-generate"


def parse_flags(program: str, words: Sequence[str]) -> Any:
    """Parses a command line; architectures and tasks have to be registered.

    Args:
        program: :data:`TRAIN` or :data:`GENERATE`
        words: without the program's name

    Raises:
        UsageError: a flag that is unknown, or a value that is not allowed
        ConfigError: a flag that has no effect on the architecture
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
    return options.parse_args_and_arch(parser, list(words))
