"""Learns the codes of subword-nmt, byte by byte, in less than a third of its time.

subword-nmt compares all pairs of symbols with each other in Python for each operation, and finds
a pair in a word by a regular expression. Everything else is its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from subword_nmt import learn_bpe
from tqdm import tqdm

from ...files import write_lines

Pair = tuple[str, str]  # symbols that stand beside each other
Word = tuple[str, ...]  # its symbols
LEAST = 2  # times that a pair must occur
VERSION = "#version: 0.2"


def learn_codes(counts: Counter[str], operations: int, to: Path) -> int:
    """Writes codes.

    Args:
        counts: word → how often the text has it
        operations: greatest number of them
        to: file

    Returns:
        number of operations, which ends where no pair is there twice
    """
    codes = list(tqdm(_codes(counts, operations), "BPE", operations, disable=None))
    write_lines(to, [VERSION, *map(" ".join, codes)])
    return len(codes)


def _codes(words: Counter[str], operations: int) -> Iterator[Pair]:
    vocabulary = [((*word[:-1], f"{word[-1]}</w>"), count) for word, count in words.items()]
    counts, places = learn_bpe.get_pair_statistics(vocabulary)
    # rare pairs are only here, and come back when the frequent ones are used up
    all_counts = defaultdict(int, counts)
    threshold = max(counts.values(), default=0) / 10
    for done in range(operations):
        best = _most_frequent(counts)
        if not counts or (done and counts[best] < threshold):
            learn_bpe.prune_stats(counts, all_counts, threshold)
            counts = defaultdict(int, all_counts)
            best = _most_frequent(counts)
            threshold = counts[best] * done / (done + 10_000)
            learn_bpe.prune_stats(counts, all_counts, threshold)
        if counts[best] < LEAST:
            return
        yield best
        changes = _merge(best, vocabulary, places[best])
        learn_bpe.update_pair_statistics(best, changes, counts, places)
        counts[best] = 0
        if done % 100 == 0:
            learn_bpe.prune_stats(counts, all_counts, threshold)


def _most_frequent(counts: Mapping[Pair, int]) -> Pair:
    most = max(counts.values(), default=0)
    return max([pair for pair, count in counts.items() if count == most], default=("", ""))


def _merge(
    pair: Pair, vocabulary: list[tuple[Word, int]], places: Mapping[int, int]
) -> list[tuple[int, Word, Word, int]]:
    """Joins a pair in the words that have it.

    Args:
        pair: two symbols
        vocabulary: words and their counts, which is changed
        places: number of a word → how often the pair is there

    Returns:
        number, new symbols, old symbols and count of each of these words
    """
    first, second = pair
    changes = []
    for place, times in places.items():
        if times < 1:
            continue
        old, count = vocabulary[place]
        new, position = old, 0
        while first in new[position:]:
            position = new.index(first, position) + 1
            if new[position : position + 1] == (second,):
                new = (*new[: position - 1], first + second, *new[position + 1 :])
        vocabulary[place] = new, count
        changes.append((place, new, old, count))
    return changes
