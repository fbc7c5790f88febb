"""Learns the codes of subword-nmt, byte by byte, in less than a third of its time.

subword-nmt compares all pairs of symbols with each other for each operation, and finds a pair in a
word by a regular expression. Here pairs wait in a heap. Everything else is subword-nmt's own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import pairwise
from pathlib import Path

from subword_nmt import learn_bpe
from tqdm import tqdm

from ...files import write_lines

Pair = tuple[str, str]  # symbols that stand beside each other
Word = tuple[str, ...]  # its symbols
Key = tuple[int, ...]  # of a symbol, for the order of a heap
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
    queue = _Queue(counts)
    for done in range(operations):
        best = queue.most_frequent()
        if not counts or (done and counts[best] < threshold):
            learn_bpe.prune_stats(counts, all_counts, threshold)
            counts = defaultdict(int, all_counts)
            threshold = max(counts.values(), default=0) * done / (done + 10_000)
            learn_bpe.prune_stats(counts, all_counts, threshold)
            queue = _Queue(counts)
            best = queue.most_frequent()
        if counts[best] < LEAST:
            return
        yield best
        changes = _merge(best, vocabulary, places[best])
        learn_bpe.update_pair_statistics(best, changes, counts, places)
        counts[best] = 0
        joined = "".join(best)
        queue.add({pair for _, word, *_ in changes for pair in pairwise(word) if joined in pair})
        if done % 100 == 0:
            learn_bpe.prune_stats(counts, all_counts, threshold)


class _Queue:
    """Finds the most frequent pair; of several, the one that is last in the order of text.

    Args:
        counts: pair → count. Others change it: a count may only grow before :meth:`add`.
    """

    def __init__(self, counts: Mapping[Pair, int]) -> None:
        self._counts = counts
        self._heap = list(map(self._entry, counts))
        heapify(self._heap)

    def _entry(self, pair: Pair) -> tuple[int, tuple[Key, Key], Pair]:
        first, second = pair
        return -self._counts[pair], (_backwards(first), _backwards(second)), pair

    def add(self, pairs: Iterable[Pair]) -> None:
        for pair in pairs:
            heappush(self._heap, self._entry(pair))

    def most_frequent(self) -> Pair:
        while self._heap:
            count, _, pair = self._heap[0]
            now = self._counts.get(pair, 0)
            if now == -count:
                return pair
            heappop(self._heap)  # its count has become smaller
            if now >= LEAST:
                self.add([pair])
        return "", ""


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


@lru_cache(maxsize=1 << 17)
def _backwards(symbol: str) -> tuple[int, ...]:
    """Returns what is the smaller, the later a symbol is; 1 puts it before its own beginning."""
    return (*(-ord(char) for char in symbol), 1)
