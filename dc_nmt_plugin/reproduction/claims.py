"""Decides the papers' claims by the kept runs of Multi30k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..files import load_json, sha256, write_json
from ..papers.document import UNMEASURED, Claim, Subject
from ..papers.register import DOCUMENTS, read_document
from ..papers.schema import Entry
from ..typed_files import from_json
from .system import NeededDecoding, NeededTraining

TASK = "multi30k_en_de"
HOME = Path(__file__).resolve().parents[2] / "examples" / TASK
# folders of kept runs: those of the example's table, and those for claims alone
KEPT = ("runs", "runs/claims")
STORED = "claims.json"
SAME_RUN = ", same run"  # behind a system's name: the run that has the other translation too
SPEEDS = "bench*.json"  # in these folders
BENCHED = {"training": "train", "decoding": "decode"}  # what decides a claim → mode of bench

LEVEL = 0.05
LEAST = 0.5  # BLEU: the difference that matters, where none or a larger one is published
LEAST_RATIO = 1.1  # of speeds: single rounds differ by so much


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A measured comparison of two systems.

    Attributes:
        by: of :data:`~..papers.document.DECIDED_BY`
        ours, than: their names
        value: difference of BLEU, of millions of parameters, or ratio of speeds
        interval: of BLEU 95%, of speeds the quartiles of the rounds; None for parameters
        p_value, corrected_p: two-sided; corrected by Holm for all comparisons of BLEU
        seeds: that both have
    """

    by: str
    ours: str
    than: str
    value: float
    interval: tuple[float, float] | None = None
    p_value: float | None = None
    corrected_p: float | None = None
    seeds: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The comparisons of ``claims.json``, which ``dc-nmt paper claims --measure`` writes.

    Attributes:
        metric: of the differences
        sentences: of the test set
        deviation, freedom: of the seeds of one system, over all systems with several
        kept: translation of a kept run → its digest
        compared: by score, then by parameters
    """

    metric: str = ""
    sentences: int = 0
    deviation: float = 0.0
    freedom: int = 0
    kept: dict[str, str] = field(default_factory=dict)
    compared: tuple[Compared, ...] = ()

    def save(self, path: Path) -> None:
        """Writes the comparisons as JSON."""
        write_json(path, asdict(self))

    @classmethod
    def read(cls, home: Path) -> Measured:
        """Returns the stored comparisons of a folder; none without a file.

        Raises:
            UserError: the file is not what :meth:`save` wrote
        """
        path = home / STORED
        if not path.is_file():
            return cls()
        advice = "not written by this version's dc-nmt paper claims --measure; make it anew"
        return from_json(load_json(path), cls, path, advice, complete=True)


@dataclass(frozen=True)
class Decided:
    """A claim and what is seen of it here.

    Attributes:
        claim: the sentence
        seen: a comparison for each of its pairs; None where nothing is measured
        verdict: of :data:`~..papers.document.VERDICTS`
    """

    claim: Claim
    seen: tuple[Compared | None, ...]
    verdict: str


def decided(documents: Sequence[str] = DOCUMENTS, home: Path = HOME) -> list[Decided]:
    """Returns the claims of documents, each with its verdict."""
    known = [*Measured.read(home).compared, *_speeds(home)]
    found = {(each.by, each.ours, each.than): each for each in known}
    return [_decided(claim, found) for name in documents for claim in read_document(name).claims]


def _decided(claim: Claim, known: Mapping[tuple[str, str, str], Compared]) -> Decided:
    seen = tuple(known.get((claim.by, *pair)) for pair in pairs_of(claim))
    words = [verdict(claim, each) for each in seen]
    if not any(seen):
        word = claim.seen
    elif "against" in words:
        word = "against"
    else:
        word = "for" if set(words) == {"for"} else "undecided"
    return Decided(claim, seen, word)


def verdict(claim: Claim, seen: Compared | None) -> str:
    """Returns what one comparison says about a claim.

    BLEU: "for" is a difference in the claimed direction with p below 0.05 after Holm's correction,
    or, of equal systems, a 95% interval within half a point. "Against" is an interval without any
    difference that matters in the claimed direction (half a point, or the published one where that
    is smaller), or, of equal systems, a significant difference.

    Speed: the quartiles of the ratio are on one side of 1, or, of equal systems, within 10%.
    """
    if seen is None:
        return UNMEASURED
    if seen.interval is None:
        holds = {"more": seen.value > 0, "less": seen.value < 0, "same": seen.value == 0}
        return "for" if holds[claim.expects] else "against"
    low, high = seen.interval
    if claim.by != "score":
        return _of_speed(claim.expects, low, high)
    significant = seen.corrected_p is not None and seen.corrected_p < LEVEL
    if claim.expects == "same":
        if low > -LEAST and high < LEAST:
            return "for"
        return "against" if significant else "undecided"
    sign = 1 if claim.expects == "more" else -1
    best = high if sign > 0 else -low
    if significant and sign * seen.value > 0:
        return "for"
    return "against" if best < least_of(claim) else "undecided"


def _of_speed(expects: str, low: float, high: float) -> str:
    if expects == "same":
        if low > 1 / LEAST_RATIO and high < LEAST_RATIO:
            return "for"
        return "against" if low > LEAST_RATIO or high < 1 / LEAST_RATIO else "undecided"
    above, below = ("for", "against") if expects == "more" else ("against", "for")
    return above if low > 1 else below if high < 1 else "undecided"


def least_of(claim: Claim) -> float:
    """Returns the least difference of BLEU that would agree with a claim.

    It is the smallest published one in the claimed direction, and at most half a point.
    """
    sign = -1 if claim.expects == "less" else 1
    found = [LEAST]
    for pair in claim.evidence:
        gap = published_gap(pair) or 0.0
        size = abs(gap) if pair[1] is None else sign * gap  # a cell says its direction itself
        found += [size] if size > 0 else []
    return min(found)


def published_gap(pair: tuple[Entry, Entry | None]) -> float | None:
    """Returns the published difference of a pair of cells, or of a cell that is a difference."""
    cell, other = pair
    if other is None:
        alone = cell.value is None and cell.difference is not None
        return float(cell.difference or 0) if alone else None
    if cell.value is None or other.value is None:
        return None
    return float(cell.value - other.value)


# -- the systems of a claim ----------------------------------------------------------------------


def training(subject: Subject) -> NeededTraining:
    """Returns the training run of a system."""
    return NeededTraining(TASK, subject.words[0], None, subject.words[1:])


def name_of(subject: Subject) -> str:
    """Returns the name of a system: its runs' folders without the seed, and its decoding."""
    run = training(subject)
    decoding = NeededDecoding(run, flags=subject.decode).name
    return ", ".join(filter(None, (run.name or run.arch, decoding)))


def subjects_of(claim: Claim) -> Iterator[tuple[Subject, Subject]]:
    """Yields the pairs of systems that a claim compares."""
    several = len(claim.ours) == len(claim.than) > 1
    yield from (
        zip(claim.ours, claim.than, strict=True) if several else product(claim.ours, claim.than)
    )


def pairs_of(claim: Claim) -> list[tuple[str, str]]:
    """Returns the names of the compared systems, or of the compared cells."""
    if claim.by == "params":
        return [(_cell_name(cell), _cell_name(other)) for cell, other in claim.evidence if other]
    return [(name_beside(one, other), name_beside(other, one)) for one, other in subjects_of(claim)]


def name_beside(subject: Subject, other: Subject) -> str:
    """Returns the name of a system in a comparison.

    Two translations are compared of the same run, not of two runs with one seed.
    """
    same = subject.words == other.words and not subject.decode
    return f"{name_of(subject)}{SAME_RUN if same else ''}"


def _cell_name(entry: Entry) -> str:
    return f"{entry.document}, {entry.item}, {entry.row}"


# -- what is kept --------------------------------------------------------------------------------


def translations(home: Path = HOME) -> dict[str, str]:
    """Returns the translations of all kept runs, with their digests."""
    paths = (path for folder in KEPT for path in sorted((home / folder).glob("*/hypotheses*")))
    return {path.relative_to(home).as_posix(): sha256(path)[:16] for path in paths}


def stale(home: Path = HOME) -> list[str]:
    """Returns the translations that are new, changed or gone since the comparisons were made."""
    stored, now = Measured.read(home).kept, translations(home)
    return sorted(name for name in {*stored, *now} if stored.get(name) != now.get(name))


def _speeds(home: Path) -> Iterator[Compared]:
    for folder in KEPT:
        for path in sorted((home / folder).glob(SPEEDS)):
            yield from _ratios(path)


def _ratios(path: Path) -> Iterator[Compared]:
    """Yields the ratios of every two benchmarked systems, from their ratios to fairseq's model."""
    of_mode = {mode: by for by, mode in BENCHED.items()}
    try:
        rows: list[dict[str, Any]] = [row for row in load_json(path)["results"] if row["system"]]
        for one, other in product(rows, rows):
            if one["mode"] == other["mode"] and one is not other:
                low, high = one["ratio_low"], one["ratio_high"]
                yield Compared(
                    by=of_mode[one["mode"]],
                    ours=one["system"],
                    than=other["system"],
                    value=one["ratio"] / other["ratio"],
                    interval=(low / other["ratio_high"], high / other["ratio_low"]),
                )
    except (KeyError, TypeError) as error:
        raise UserError(f"{path}: is not what dc-nmt bench --json prints: {error}") from error
