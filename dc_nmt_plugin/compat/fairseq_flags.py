"""Checks of flags that the user gave for fairseq's programs, before any work."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from typing import Any, NoReturn

from fairseq import options

from ..errors import ConfigError, UsageError, did_you_mean

TRAIN, GENERATE = "fairseq-train", "fairseq-generate"
_PARSERS = {TRAIN: options.get_training_parser, GENERATE: options.get_generation_parser}


def parse_flags(program: str, words: Sequence[str]) -> Any:
    """Parses a command line of fairseq; architectures and tasks have to be registered.

    Args:
        program: a key of ``_PARSERS``
        words: without the program's name

    Raises:
        UsageError: a flag that is unknown, or a value that is not allowed
    """
    parser = _PARSERS[program]()
    parser.error = functools.partial(_refuse, program, parser)
    return options.parse_args_and_arch(parser, list(words))


def check_flags(program: str, words: Sequence[str]) -> None:
    """Checks names and forms of flags; their values may depend on the machine of the run.

    Raises:
        UsageError: as :func:`parse_flags`
    """
    with contextlib.suppress(ConfigError):
        parse_flags(program, words)


def _refuse(program: str, parser: Any, message: str) -> NoReturn:
    """Raises one sentence instead of two pages of fairseq's usage."""
    start = "unrecognized arguments: "
    if not message.startswith(start):
        raise UsageError(message.removeprefix("argument "))
    word = message.removeprefix(start).split()[0].partition("=")[0]
    if not word.startswith("-"):
        raise UsageError(f"{word}: does not belong to a flag; put arguments without a flag first.")
    raise UsageError(
        f"{word}: {program} has no such flag.{did_you_mean(word, parser._option_string_actions)}"
    )
