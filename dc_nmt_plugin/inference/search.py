"""Flags of ``fairseq-generate``: those that are refused, and numbers with which it would fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import registration as registration  # adds the tasks of this plugin to fairseq's parser
from ..errors import UsageError
from ..flags import LEAST_OF_SEARCH, flag_name, flag_value
from ..models.fairseq_flags import GENERATE, parse_flags

SET_BY_ANALYSES = (
    "--path",
    "--gen-subset",
    "--task",
    "--user-dir",
    "--decode-with",
    "--no-aux-fusion",
)
# without effect on scored or printed hypotheses, so refused
_UNUSED = (
    "--bpe",
    "--constraints",
    "--lm-path",
    "--nbest",
    "--prefix-size",
    "--print-alignment",
    "--replace-unk",
    "--results-path",
    "--sacrebleu",
    "--score-reference",
    "--scoring",
)


def refuse_flags(flags: Sequence[str], set_here: Sequence[str]) -> None:
    """Raises UserError for a flag of `set_here`, or a flag that would be ignored."""
    for flag in set_here:
        if flag_value(flags, flag) is not None or flag in flags:
            raise UsageError(f"{flag}: this command sets it by itself.")
    for flag in _UNUSED:
        if any(word == flag or word.startswith(flag + "=") for word in flags):
            raise UsageError(f"{flag}: fairseq-generate has it, this command has not.")


def parse_search(words: Sequence[str]) -> Any:
    """Parses flags of ``fairseq-generate``; refuses numbers with which the search would fail."""
    args = parse_flags(GENERATE, words)
    for name, value in vars(args).items():
        least = LEAST_OF_SEARCH.get(name, -math.inf)
        if isinstance(value, int | float) and not least <= value < 2**32:  # nor is NaN
            valid = (
                f"from {least:g} to {2**32 - 1:,}" if name in LEAST_OF_SEARCH else "a finite number"
            )
            raise UsageError(f"{flag_name(name)}: {value} is not allowed; give {valid}.")
    if not args.max_len_a and args.max_len_b < args.min_len:
        raise UsageError(f"--max-len-b {args.max_len_b}: is below --min-len {args.min_len}.")
    return args
