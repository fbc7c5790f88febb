"""Reads a user's pair of files: languages, counts, and pairs to hold out."""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UsageError, UserError
from ..files import sha256, write_parallel
from ..text.checks import NOTHING, Scan, check_lines, scan_groups
from ..text.languages import count_letters, language
from .formats import Pair, read_pairs

LEAST = 200  # training pairs; fewer are too few for training and evaluation
KINDS = ("txt", "tok", "raw", "bpe", "src", "trg", "tgt", "csv", "tsv")  # endings, no languages
HELD_OUT = 1000  # pairs at most, and a twentieth of the text
LETTERS_PER_WORD = 15  # a greater average length means text without spaces
SPACELESS_PER_WORD = 5  # the same in scripts without spaces, whose words are short
SAMPLED = 1000  # pairs in the detailed checks
COUNTED = 50_000  # pairs whose letters and words are counted

Files = Sequence[Sequence[Path]]  # source and target of each corpus, in their order


@dataclass
class Side:
    """Holds numbers of one language of a corpus.

    Attributes:
        words: total, separated by spaces
        bytes: total in UTF-8, with the ends of lines
        letters: character → count
    """

    words: int = 0
    bytes: int = 0
    letters: Counter[str] = field(default_factory=Counter)

    def count(self, lines: Sequence[str], share: int) -> None:
        """Counts a sample of the lines, and scales the counts to all."""
        text = "\n".join(lines) + "\n"
        self.words = share * len(text.split())
        self.bytes = share * len(text.encode())
        counts = Counter(text)
        self.letters = Counter({c: share * n for c, n in counts.items() if c.isalpha()})

    def has_no_spaces(self) -> bool:
        """Returns True if words are not separated by spaces."""
        letters = self.letters.total()
        spaceless = sum(n for letter, n in self.letters.items() if count_letters(letter)[1])
        most = SPACELESS_PER_WORD if 2 * spaceless > letters else LETTERS_PER_WORD
        return letters > most * max(1, self.words)


class Corpus:
    """Files with one sentence per line in two languages, read once.

    Args:
        flag: the flag with the files
        files: of both languages, of one corpus or several
        languages: their codes
        scans: of the files; None: scanned now

    Attributes:
        pairs: total number
        blank: number of pairs with a blank side
        sides: numbers of both languages

    Raises:
        UserError: unreadable, empty, of different lengths, or the same text twice
    """

    def __init__(
        self,
        flag: str,
        files: Files,
        languages: tuple[str, str],
        scans: Sequence[Sequence[Scan]] | None = None,
    ) -> None:
        self.flag, self.files, self.languages = flag, files, languages
        scans = scan_groups(files)[0] if scans is None else scans
        for pair in scans:
            check_lines(pair)
        self._texts = [np.concatenate([pair[n].texts for pair in scans]) for n in (0, 1)]
        self.pairs = len(self._texts[0])
        empty = (self._texts[0] == NOTHING) | (self._texts[1] == NOTHING)
        self.blank = int(empty.sum())
        same = int((self._texts[0] == self._texts[1]).sum()) - self.blank
        names = ", ".join(f"{source} and {target}" for source, target in files)
        if self.pairs == self.blank:
            raise UserError(f"{flag}: {names} have no pair of sentences")
        if same > self.pairs // 2:
            raise UserError(
                f"{flag}: {same:,} of {self.pairs:,} lines are the same in {names}: "
                "these are not two languages"
            )
        share = self.pairs // COUNTED + 1
        self.sides = (Side(), Side())
        counted = zip(*islice(self.read(), 0, None, share), strict=True)
        for side, lines in zip(self.sides, counted, strict=True):
            side.count(lines, share)

    def read(self) -> Iterator[Pair]:
        """Yields the pairs of all files, in order."""
        for source, target in self.files:
            yield from read_pairs("plain", (source, target), self.languages)

    def first(self, pairs: int) -> list[Pair]:
        """Returns this many pairs from the beginning."""
        return list(islice(self.read(), pairs))

    @property
    def sources(self) -> Any:
        """Returns a number for each source line; equal for lines that differ in spaces only."""
        return self._texts[0]

    def shared(self, other: Corpus) -> int:
        """Returns the number of pairs whose source is among those of the other corpus."""
        return int(np.isin(self.sources, other.sources).sum())

    def unique(self, apart: Any = ()) -> Any:
        """Returns places of pairs that occur once on both sides, with no source in `apart`."""
        fit = ~np.isin(self.sources, np.array(apart, dtype=np.int64))
        for texts in self._texts:
            ordered = np.sort(texts)
            repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
            fit &= ~np.isin(texts, repeated) & (texts != NOTHING)
        return np.flatnonzero(fit)

    def divide(
        self, sets: Sequence[str], seed: int, folder: Path, apart: Any = ()
    ) -> dict[str, int]:
        """Writes ``folder/SET.LANG`` for every held-out set, and ``train`` for the rest.

        A pair that is held out is in the corpus once, so that nothing of it is left, and its
        source is not among those of `apart`, another set's (:attr:`sources`).

        Returns:
            set → pairs

        Raises:
            UserError: too few pairs
        """
        size = min(HELD_OUT, self.pairs // 20)
        places = self.unique(apart)
        if len(places) < size * len(sets):
            raise UserError(
                f"{self.flag}: only {len(places):,} of {self.pairs:,} pairs occur once, and "
                f"{size * len(sets):,} are to be held out: give --valid and --test"
            )
        drawn = random.Random(seed).sample(range(len(places)), size * len(sets))
        set_of = {int(places[number]): sets[n // size] for n, number in enumerate(drawn)}
        counts = {}
        for name in ("train", *sets):
            pairs = enumerate(self.read())
            counts[name] = write_parallel(
                [folder / f"{name}.{code}" for code in self.languages],
                (pair for place, pair in pairs if set_of.get(place, "train") == name),
            )
        return counts


@dataclass(frozen=True)
class LocalFile:
    """Describes a file for a recipe: path, size in bytes, time of change, checksum."""

    path: Path
    bytes: int
    modified: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> LocalFile:
        state = path.stat()
        return cls(path, state.st_size, int(state.st_mtime), sha256(path))


def languages_of(
    flag: str, paths: Sequence[Path], given: Sequence[str | None] = (None, None)
) -> tuple[str, str]:
    """Returns the language codes of two files: ``a.de``, ``a.de.gz``.

    Args:
        flag: the flag with the files
        paths: of source and target
        given: codes that the user gave, or None

    Raises:
        UserError: the codes are unknown, or the same
    """
    found = []
    for path, code, side in zip(paths, given, ("--source-lang", "--target-lang"), strict=True):
        suffix = path.name.removesuffix(".gz").rpartition(".")[2]
        named = re.fullmatch(r"[A-Za-z]{2,3}([-_]\w+)?", suffix) and suffix not in KINDS
        if code is None and not named:
            raise UsageError(f"{flag}: {path} does not end in a language such as .de: give {side}")
        try:
            found.append(language(code or suffix))
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{side}: {error}") from error
    if found[0] == found[1]:
        raise UsageError(f"{flag}: {paths[0]} and {paths[1]} are both {found[0]}")
    return found[0], found[1]
