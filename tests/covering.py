"""Few combinations in which all values of any few factors stand together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

Combination = tuple[str, ...]
Part = frozenset[tuple[int, str]]  # some factors, by number, each with a value


def parts_of(combination: Iterable[tuple[int, str]], together: int) -> set[Part]:
    """Every choice of `together` factors of a combination, with their values."""
    return set(map(frozenset, itertools.combinations(combination, together)))


def covering(factors: Sequence[Sequence[str]], together: int) -> list[Combination]:
    """Combinations in which all values of every `together` factors occur: a greedy choice."""
    missing: dict[Part, None] = {}  # in order, as a set is not
    for some in itertools.combinations(range(len(factors)), together):
        for values in itertools.product(*(factors[number] for number in some)):
            missing[frozenset(zip(some, values, strict=True))] = None
    chosen = []
    while missing:
        case = dict(next(iter(missing)))
        for number in sorted(set(range(len(factors))) - set(case)):
            case = max(
                ({**case, number: value} for value in factors[number]),
                key=lambda candidate: len(parts_of(candidate.items(), together) & missing.keys()),
            )
        chosen.append(tuple(case[number] for number in range(len(factors))))
        for part in parts_of(case.items(), together):
            missing.pop(part, None)
    return chosen
