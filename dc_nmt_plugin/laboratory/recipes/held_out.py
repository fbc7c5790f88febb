"""Chooses the pairs of the training text that are held out for validation and test sets.

A published recipe holds out by its rule, when the text is prepared. ``dc-nmt new`` holds out pairs
that occur once, and writes them beside the recipe.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import UserError
from ..raw_text.checks import NOTHING, Scan, blocks, contained
from .recipe import SPLITS

MOST = 1000  # pairs of a set that dc-nmt new holds out, and at most a twentieth of the text
SEED = 1  # of its choice
UNLIKE = 3  # times as long, beside the text as a whole


def lines_by_rule(rule: tuple[str, int], seed: int, kept: bytearray, most: int | None) -> set[int]:
    """Returns the training lines that become validation text, at most so many.

    Args:
        rule: ``random`` or ``every``, and N
        seed: of the random choice
        kept: 1 for a used line of the training corpora
        most: number of lines; None for all
    """
    how, number = rule
    total = sum(kept)
    if how == "every":
        chosen = set(range(number - 1, total, number)[:most])
    else:
        wanted = min(number if most is None else most, total // 2)
        chosen = set(random.Random(seed).sample(range(total), wanted))
    lines = set()
    rank = 0  # among the used lines
    for line, used in enumerate(kept):
        if used and rank in chosen:
            lines.add(line)
        rank += used
    return lines


def lines_that_occur_once(
    sets: Sequence[str], scans: Mapping[str, Sequence[Scan]]
) -> dict[int, str]:
    """Returns training line → held-out set; no text that is given has the source of such a line.

    Pairs with equal sides, or with sides of unlike length, are no translations to score.

    Args:
        sets: that are held out
        scans: set or added corpus that is given → its two sides

    Raises:
        UserError: too few pairs
    """
    source, target = (side.texts for side in scans["train"])
    good = source != target
    for side, texts in enumerate((source, target)):
        _keep_unique(good, texts)
        for split, sides in scans.items():
            # of an added corpus both sides count: back-translations have targets in common
            if split != "train" and (side == 0 or split not in SPLITS):
                good &= ~contained(texts, sides[side].texts)
    good &= _are_alike(*(side.lengths for side in scans["train"]))
    places = np.flatnonzero(good)
    size = min(MOST, len(source) // 20)
    if len(places) < size * len(sets):
        raise UserError(
            f"--train: only {len(places):,} of {len(source):,} pairs are translations that occur "
            f"once in all given text, and {size * len(sets):,} are to be held out: give --valid "
            "and --test"
        )
    drawn = random.Random(SEED).sample(range(len(places)), size * len(sets))
    return {int(places[number]): sets[n // size] for n, number in enumerate(drawn)}


def _keep_unique(good: Any, texts: Any) -> None:
    """Makes `good` False where a text is there twice, or has nothing visible."""
    ordered = np.sort(texts)
    for mask, block in zip(blocks(good), blocks(texts), strict=True):
        following = np.searchsorted(ordered, block) + 1
        unique = ordered[np.minimum(following, len(ordered) - 1)] != block
        unique |= following == len(ordered)
        mask &= unique & (block != NOTHING)


def _are_alike(one: Any, two: Any) -> Any:
    """Returns for each pair of lengths whether their ratio is near that of most pairs."""
    ratios = np.log1p(one, dtype=np.float32)
    ratios -= np.log1p(two, dtype=np.float32)
    ratios -= np.median(ratios)
    return abs(ratios) < np.log(UNLIKE)
