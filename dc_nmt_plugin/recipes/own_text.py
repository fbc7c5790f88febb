"""Reads a user's pair of files: languages, counts, and pairs to hold out."""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UsageError, UserError
from ..files import write_parallel
from ..text.checks import NOTHING, as_table, refuse, scan_groups
from ..text.languages import is_spaceless, language
from .formats import Pair, read_pairs

KINDS = ("txt", "tok", "raw", "bpe", "src", "trg", "tgt", "csv", "tsv")  # endings, no languages
HELD_OUT = 1000  # pairs at most, and a twentieth of the text
SEED = 1  # of the choice of held-out pairs
SAMPLED = 1000  # pairs in the detailed checks
COUNTED = 50_000  # pairs whose letters and words are counted


# refused in addition to SPOILT; blank pairs of the training text are dropped
REFUSED = {
    "train": ("tokenized", "unseen", "symbol", "form"),
    "valid": ("tokenized", "unseen", "symbol", "form", "blank"),
    "test": ("tokenized", "unseen", "symbol", "form", "blank"),
}


class Corpus:
    """Two files with one sentence per line.

    Args:
        split: train, valid or test
        paths: of source and target
        languages: their codes
        tokenized: the text may be tokenised

    Attributes:
        scans: of source and target
        pairs: their number
        blank: number of pairs with a blank side
        sources, targets: a number for each line; equal for lines that differ in spaces only
        words: total of each side, counted on a sample
        letters: character → count, of each side
        spaceless: of each side, True in a script without spaces between words

    Raises:
        UserError: unreadable, empty, of different lengths, the same text twice, or with a problem
            that makes training or scores meaningless; a table of all problems is printed before
    """

    def __init__(
        self,
        split: str,
        paths: Sequence[Path],
        languages: tuple[str, str],
        tokenized: bool = False,
    ) -> None:
        self.paths, self.languages = (paths[0], paths[1]), languages
        scans, findings = scan_groups([paths])
        if findings:
            print(as_table(findings), end="\n\n")
        try:
            refuse(findings, REFUSED[split], allowed=("tokenized",) if tokenized else ())
        except UserError as error:
            raise UserError(f"--{split}: {error}") from None
        source, target = self.scans = scans[0]
        self.sources, self.targets = source.texts, target.texts
        self.pairs = source.lines
        self.blank = int(((self.sources == NOTHING) | (self.targets == NOTHING)).sum())
        same = int((self.sources == self.targets).sum()) - self.blank
        names = f"{paths[0]} and {paths[1]}"
        if self.pairs == self.blank:
            raise UserError(f"--{split}: {names} have no pair of sentences")
        if same > self.pairs // 2:
            raise UserError(
                f"--{split}: {same:,} of {self.pairs:,} lines are the same in {names}: "
                "these are not two languages"
            )
        self.words, self.letters, self.spaceless = [], [], []
        every = self.pairs // COUNTED + 1  # every so many pairs are counted
        for lines in zip(*islice(self.read(), 0, None, every), strict=True):
            text = "\n".join(lines) + "\n"
            self.words.append(every * len(text.split()))
            letters = {char: every * n for char, n in Counter(text).items() if char.isalpha()}
            self.letters.append(Counter(letters))
            self.spaceless.append(is_spaceless(None, lines))

    def read(self) -> Iterator[Pair]:
        """Yields the pairs, in order."""
        return read_pairs("plain", self.paths)

    def first_targets(self) -> list[str]:
        """Returns target lines from the beginning, for checks that take time."""
        return [target for _, target in islice(self.read(), SAMPLED)]

    def unique(self, others: Any = ()) -> Any:
        """Returns places of pairs that occur once on both sides, with no source in `others`."""
        good = ~np.isin(self.sources, np.array(others, dtype=np.int64))
        for texts in (self.sources, self.targets):
            values, counts = np.unique(texts, return_counts=True)
            good &= np.isin(texts, values[counts == 1]) & (texts != NOTHING)
        return np.flatnonzero(good)

    def divide(self, sets: Sequence[str], folder: Path, others: Any = ()) -> dict[str, int]:
        """Writes ``folder/SET.LANG`` for every held-out set, and ``train`` for the rest.

        A pair that is held out is in the corpus once, so that nothing of it is left, and its
        source is not among those of `others`, another set's (:attr:`sources`).

        Returns:
            set → pairs

        Raises:
            UserError: too few pairs
        """
        size = min(HELD_OUT, self.pairs // 20)
        places = self.unique(others)
        if len(places) < size * len(sets):
            raise UserError(
                f"--train: only {len(places):,} of {self.pairs:,} pairs occur once, and "
                f"{size * len(sets):,} are to be held out: give --valid and --test"
            )
        drawn = random.Random(SEED).sample(range(len(places)), size * len(sets))
        set_of = {int(places[number]): sets[n // size] for n, number in enumerate(drawn)}
        counts = {}
        for name in ("train", *sets):
            pairs = enumerate(self.read())
            counts[name] = write_parallel(
                [folder / f"{name}.{code}" for code in self.languages],
                (pair for place, pair in pairs if set_of.get(place, "train") == name),
            )
        return counts


def languages_of(
    flag: str, paths: Sequence[Path], codes: Sequence[str | None] = (None, None)
) -> tuple[str, str]:
    """Returns the language codes of two files: ``a.de``, ``a.de.gz``.

    Args:
        flag: the flag with the files
        paths: of source and target
        codes: of ``--source-lang`` and ``--target-lang``, or None

    Raises:
        UserError: the codes are unknown, or the same
    """
    known = []
    for path, code, side in zip(paths, codes, ("--source-lang", "--target-lang"), strict=True):
        suffix = path.name.removesuffix(".gz").rpartition(".")[2]
        named = re.fullmatch(r"[A-Za-z]{2,3}([-_]\w+)?", suffix) and suffix not in KINDS
        if code is None and not named:
            raise UsageError(f"{flag}: {path} does not end in a language such as .de: give {side}")
        try:
            known.append(language(code or suffix))
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{side}: {error}") from error
    if known[0] == known[1]:
        raise UsageError(f"{flag}: {paths[0]} and {paths[1]} are both {known[0]}")
    return known[0], known[1]
