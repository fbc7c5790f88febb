"""Flags of ``fairseq-generate``: those that are refused, and numbers with which it would fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import registration as registration  # adds the tasks of this plugin to fairseq's parser
from ...errors import UsageError
from ...flags import SHORT, flag_name
from ..fairseq_flags import GENERATE, parse_flags

SET_BY_ANALYSES = (
    "--path",
    "--gen-subset",
    "--task",
    "--user-dir",
    "--decode-with",
    "--no-aux-fusion",
)
# refused: most have no effect on scored or printed hypotheses, and with diverse beams of several
# sentences, fairseq takes the penalty of another sentence
_UNUSED = (
    "--bpe",
    "--constraints",
    "--diverse-beam-groups",
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
# setting of a search → lowest and greatest value with which it works
_LEAST = dict.fromkeys(("max_len_a", "max_len_b", "min_len", "seed"), 0.0)
_LEAST |= {"beam": 1, "required_batch_size_multiple": 1, "temperature": 1e-6, "lenpen": -100}
_GREATEST = {"lenpen": 100}  # a power of the length, which is finite then
_GREATEST_OF_OTHERS = 2**32 - 1


def refuse_flags(flags: Sequence[str], set_here: Sequence[str]) -> None:
    """Refuses what would be lost: a flag of `set_here`, an idle flag, one that is given twice.

    Raises:
        UserError: naming the flag
    """
    if isinstance(flags, str) or not all(isinstance(word, str) for word in flags):
        raise UsageError(f"flags: {flags!r} is no list of words such as ['--beam', '4'].")
    words = [SHORT.get(word, word) for word in flags]
    names = [word.partition("=")[0] for word in words if word.startswith("--")]
    for name in names:
        if name in set_here:
            raise UsageError(f"{name}: this command sets it by itself.")
        if name in _UNUSED:
            raise UsageError(f"{name}: fairseq-generate has it, this command has not.")
        if names.count(name) > 1:
            raise UsageError(f"{name}: is given twice; give it once")


def parse_search(words: Sequence[str]) -> Any:
    """Parses flags of ``fairseq-generate``; refuses numbers with which the search would fail."""
    args = parse_flags(GENERATE, words)
    for name, value in vars(args).items():
        least = _LEAST.get(name, -math.inf)
        greatest = _GREATEST.get(name, _GREATEST_OF_OTHERS)
        if isinstance(value, int | float) and not least <= value <= greatest:  # nor is NaN
            valid = "a finite number"
            if name in _LEAST:
                valid = f"from {least:g} to {greatest:,}"
            raise UsageError(f"{flag_name(name)}: {value} is not allowed; give {valid}.")
    if not args.max_len_a and args.max_len_b < args.min_len:
        raise UsageError(f"--max-len-b {args.max_len_b}: is below --min-len {args.min_len}.")
    return args
