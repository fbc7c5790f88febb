"""A user's pair of files: languages, counts, and pairs to hold out."""

from __future__ import annotations

import argparse
import random
import re
from array import array
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UserError
from ..files import sha256, write_parallel
from ..text.languages import language
from ..text.preparation import bare
from .formats import Pair, read_pairs

LEAST = 200  # training pairs; below, nothing can be learnt or measured
KINDS = ("txt", "tok", "raw", "bpe", "src", "trg", "tgt", "csv", "tsv")  # endings, no languages
HELD_OUT = 1000  # pairs at most, and a twentieth of the text
LETTERS_PER_WORD = 15  # more on average: text that is written without spaces
# in scripts that do so, whose words are short: Thai, Lao, Tibetan, Burmese, Khmer, Kana, Han
SPACELESS = ((0x0E00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x9FFF))
SPACELESS_PER_WORD = 5
SAMPLED = 1000  # pairs that are looked at closely


@dataclass
class Side:
    """One language of a corpus.

    Attributes:
        words: separated by spaces, in all
        letters: character → how often
        longest: words of the longest line
        bytes: in UTF-8, with the ends of lines
    """

    words: int = 0
    bytes: int = 0
    letters: Counter[str] = field(default_factory=Counter)
    longest: int = 0

    def add(self, line: str) -> None:
        words = line.split()
        self.words += len(words)
        self.bytes += len(line.encode()) + 1
        self.longest = max(self.longest, len(words))
        self.letters.update(character for character in line if character.isalpha())

    def has_no_spaces(self) -> bool:
        """Returns True if words are not separated by spaces."""
        letters = self.letters.total()
        spaceless = sum(n for letter, n in self.letters.items() if _is_spaceless(letter))
        most = SPACELESS_PER_WORD if 2 * spaceless > letters else LETTERS_PER_WORD
        return letters > most * max(1, self.words)


class Corpus:
    """Two files with one sentence per line, read once.

    Args:
        flag: that names them
        paths: of both languages
        languages: their codes

    Attributes:
        pairs: of both files
        blank: pairs with nothing on a side
        sides: numbers of both languages

    Raises:
        UserError: unreadable, empty, of different lengths, or the same text twice
    """

    def __init__(self, flag: str, paths: Sequence[Path], languages: tuple[str, str]) -> None:
        self.flag, self.paths, self.languages = flag, (paths[0], paths[1]), languages
        for path in paths:
            if not path.is_file():
                raise UserError(f"{flag}: {path} is not a file")
        self.pairs = self.blank = same = 0
        self.sides = (Side(), Side())
        self._texts = (array("q"), array("q"))
        for pair in read_pairs("plain", self.paths, languages):
            self.pairs += 1
            self.blank += not all(map(str.strip, pair))
            same += pair[0] == pair[1]
            for side, texts, line in zip(self.sides, self._texts, pair, strict=True):
                side.add(line)
                texts.append(_bare(line))
        if self.pairs == self.blank:
            raise UserError(f"{flag}: {paths[0]} and {paths[1]} have no pair of sentences")
        if same > self.pairs // 2:
            raise UserError(
                f"{flag}: {same:,} of {self.pairs:,} lines are the same in {paths[0]} and "
                f"{paths[1]}: these are not two languages"
            )

    def first(self, pairs: int) -> list[Pair]:
        """Returns this many pairs from the beginning."""
        return list(islice(read_pairs("plain", self.paths, self.languages), pairs))

    def known(self) -> set[int]:
        """Returns its sources in a form that :meth:`shared` compares."""
        return set(self._texts[0])

    def shared(self, sources: Collection[int]) -> int:
        """Returns the number of pairs whose source is among them."""
        return sum(text in sources for text in self._texts[0])

    def unique(self, apart: Collection[int] = ()) -> Any:
        """Places of pairs whose source and target occur once, and the source not in `apart`."""
        fit = np.ones(self.pairs, dtype=bool)
        for texts in self._texts:
            hashes = np.frombuffer(texts, dtype=np.int64)
            ordered = np.sort(hashes)
            repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
            fit &= ~np.isin(hashes, repeated) & (hashes != _bare(""))
        sources = np.frombuffer(self._texts[0], dtype=np.int64)
        fit &= ~np.isin(sources, np.array(list(apart), dtype=np.int64))
        return np.flatnonzero(fit)

    def without_blanks(self) -> Corpus:
        """Itself.

        Raises:
            UserError: a pair has nothing on a side, where each is translated and scored
        """
        if self.blank:
            nothing = _bare("")
            places = [place for texts in self._texts for place in _places(texts, nothing)]
            raise UserError(
                f"{self.flag}: line {min(places) + 1} is blank in {self.paths[0]} or "
                f"{self.paths[1]}: take such pairs out of both"
            )
        return self

    def divide(
        self, sets: Sequence[str], seed: int, folder: Path, apart: Collection[int] = ()
    ) -> dict[str, int]:
        """Write ``folder/SET.LANG`` of every held-out set and of what is left, ``train``.

        A pair that is held out is in the corpus once, so that nothing of it is left, and its
        source is not among those of `apart`, another set's (:meth:`known`).

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
        home = {int(places[number]): sets[n // size] for n, number in enumerate(drawn)}
        counts = {}
        for name in ("train", *sets):
            pairs = enumerate(read_pairs("plain", self.paths, self.languages))
            counts[name] = write_parallel(
                [folder / f"{name}.{code}" for code in self.languages],
                (pair for place, pair in pairs if home.get(place, "train") == name),
            )
        return counts


@dataclass(frozen=True)
class LocalFile:
    """A file for a recipe: path, size in bytes, time of change, checksum."""

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
        flag: that names the files
        paths: of source and target
        given: codes that the user gave, or None

    Raises:
        UserError: they cannot be told, or are the same
    """
    found = []
    for path, code, side in zip(paths, given, ("--source-lang", "--target-lang"), strict=True):
        suffix = path.name.removesuffix(".gz").rpartition(".")[2]
        named = re.fullmatch(r"[A-Za-z]{2,3}([-_]\w+)?", suffix) and suffix not in KINDS
        if code is None and not named:
            raise UserError(f"{flag}: {path} does not end in a language such as .de: give {side}")
        try:
            found.append(language(code or suffix))
        except argparse.ArgumentTypeError as error:
            raise UserError(f"{side}: {error}") from error
    if found[0] == found[1]:
        raise UserError(f"{flag}: {paths[0]} and {paths[1]} are both {found[0]}")
    return found[0], found[1]


def _is_spaceless(letter: str) -> bool:
    return any(first <= ord(letter) <= last for first, last in SPACELESS)


def _bare(line: str) -> int:
    return hash(bare(line))


def _places(texts: array[int], wanted: int) -> list[int]:
    return [place for place, text in enumerate(texts) if text == wanted]
