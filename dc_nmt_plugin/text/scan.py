"""Scans a text file once for problems, by kind, with counts and first lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .kinds import CONTROLS, ENDS, KINDS, LONG, RARE
from .lines import blocks_of, character
from .scripts import SAMPLED, is_spaceless
from .signs import tokenized_sign

NOTHING = hash(b"")  # the number of a blank line
CHECKED = 20_000  # lines that ftfy checks one by one
# white space beyond ASCII, in UTF-8
_SPACES = [
    re.compile(pattern)
    for pattern in (rb"\xc2\xa0", rb"\xe2\x80[\x80-\x8a\xaf]", rb"\xe2\x81\x9f", rb"\xe3\x80\x80")
]
_PATTERNS = [
    (name, kind.before, re.compile(pattern))
    for name, kind in KINDS.items()
    for pattern in kind.patterns
]
_RARE_BYTES = {"control": CONTROLS.encode(), "line-end": ENDS.encode()}


@dataclass(frozen=True)
class Finding:
    """Holds one kind of problem in one file.

    Attributes:
        kind: a key of KINDS
        file: its name
        lines: number of lines with the problem
        first: number of the first such line
        example: from that line
        total: lines of the file
    """

    kind: str
    file: str
    lines: int
    first: int
    example: str
    total: int

    @property
    def counts(self) -> bool:
        """Returns whether it is often enough to be one of the text as a whole."""
        return KINDS[self.kind].any or self.lines * RARE > self.total

    def __str__(self) -> str:
        kind = KINDS[self.kind]
        many = f" ({self.lines:,} of {self.total:,} lines)" if self.lines > 1 else ""
        about = kind.about.replace("{}", self.example)
        remedy = kind.remedy.replace("{file}", self.file)
        return f"{self.file}, line {self.first}: {about}{many}; {remedy}"


@dataclass
class Scan:
    """Holds the scan of a text file.

    Attributes:
        name: of the file
        spaceless: its script has no spaces between words
        lines, blank: number of lines, and of blank lines
        texts: a number for each line, equal for lines that differ only in spaces and ASCII case
        units: words of each line, or half of its characters in a script without spaces
    """

    name: str
    spaceless: bool = False
    lines: int = 0
    texts: Any = field(default_factory=lambda: np.empty(0, np.int64))
    units: Any = field(default_factory=lambda: np.empty(0, np.int32))
    _found: dict[str, tuple[int, int, str]] = field(default_factory=dict)

    @property
    def blank(self) -> int:
        return sum(self._found.get(kind, (0,))[0] for kind in ("blank", "unseen"))

    @property
    def findings(self) -> list[Finding]:
        """Returns the findings in the order of KINDS."""
        return [
            Finding(kind, self.name, *self._found[kind], self.lines)
            for kind in KINDS
            if kind in self._found
        ]

    def add(self, kind: str, lines: Any, example: str) -> None:
        """Adds lines (counted from 0, rising) of a kind; keeps the first example."""
        before = self._found.get(kind, (0, int(lines[0]) + 1, example))
        self._found[kind] = (before[0] + len(lines), *before[1:])


def scan(path: Path | str) -> Scan:
    """Scans a file, plain or gzipped.

    Raises:
        UserError: the file cannot be read, or is empty
    """
    return _scan(str(path), blocks_of(path))


def scan_lines(name: object, lines: Sequence[str]) -> Scan:
    """Scans lines that were already read."""
    return _scan(str(name), iter(["".join(f"{line}\n" for line in lines).encode()]))


def _scan(name: str, blocks: Iterable[bytes]) -> Scan:
    found = Scan(name)
    texts, units = [], []
    for number, block in enumerate(blocks):
        raw = block.replace(b"\r\n", b"\n")
        raw = raw.removesuffix(b"\r") if not raw.endswith(b"\n") else raw
        raw = raw if raw.endswith(b"\n") or not raw else raw + b"\n"
        if not raw:
            continue
        text = _decoded(found, raw)
        if number == 0:
            lines = text.split("\n")[:CHECKED]
            found.spaceless = is_spaceless(None, lines[:SAMPLED])
            if not found.spaceless and (sign := tokenized_sign(lines)):
                lines_of = range(sign.first - 1, sign.first - 1 + sign.lines)
                found.add("tokenized", lines_of, sign.example)
        part = _Block(raw, found)
        part.find_patterns()
        texts.append(part.texts())
        units.append(part.units())
        found.lines += len(part.ends)
    if texts:
        found.texts, found.units = np.concatenate(texts), np.concatenate(units)
    return found


def _decoded(found: Scan, raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        bad, example = [], ""
        for number, line in enumerate(raw.split(b"\n"), start=found.lines):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                bad.append(number)
                example = example or f"byte 0x{line[error.start]:02x}"
        found.add("utf-8", bad, example)
        return raw.decode("utf-8", "replace")


class _Block:
    """Holds some lines of a file, each ended by a line feed."""

    def __init__(self, raw: bytes, found: Scan) -> None:
        self.raw, self.found = raw, found
        self.array = np.frombuffer(raw, np.uint8)
        self.ends = np.flatnonzero(self.array == 0x0A)
        self.starts = np.concatenate(([0], self.ends[:-1] + 1))
        self.unseen: set[bytes] = set()  # byte sequences of invisible characters

    def find_patterns(self) -> None:
        ascii_only = self.raw.isascii()
        places: dict[str, list[int]] = {}
        examples: dict[str, tuple[int, bytes]] = {}
        for kind, before, pattern in _PATTERNS:
            if ascii_only and pattern.pattern[1:2] == b"x":
                continue
            if pattern.pattern.startswith(b"[") and not self._has(_RARE_BYTES[kind]):
                continue
            matches = [
                (m.start(), m[0]) for m in pattern.finditer(self.raw) if self._fits(m, before)
            ]
            if matches:
                places.setdefault(kind, []).extend(place for place, _ in matches)
                examples[kind] = min(matches[0], examples.get(kind, matches[0]))
            if kind in ("line-end", "control", "invisible"):
                self.unseen.update(match for _, match in matches)
        for kind, found in places.items():
            lines = np.unique(np.searchsorted(self.ends, found))
            if kind == "mojibake":
                lines, example = self._misread(lines)
            else:
                example = _shown(examples[kind][1])
            if len(lines):
                self.found.add(kind, lines + self.found.lines, example)

    def _has(self, characters: bytes) -> bool:
        return len(self.raw.translate(None, characters)) != len(self.raw)

    def _fits(self, match: re.Match[bytes], before: str) -> bool:
        if not before:
            return True
        place = match.start()
        if before == "start":
            return not self.raw[self.raw.rfind(b"\n", 0, place) + 1 : place].strip()
        apart = place == 0 or self.raw[place - 1 : place].isspace()
        return apart == (before == "space")

    def _misread(self, lines: Any) -> tuple[Any, str]:
        """Returns the lines that ftfy takes for a wrong encoding."""
        from ftfy.badness import is_bad

        kept, example = [], ""
        for number in lines[:CHECKED]:
            text = self._line(number)
            if "\ufffd" in text or is_bad(text):
                kept.append(number)
                example = example or next(w for w in text.split(" ") if not w.isascii())
        rest = lines[CHECKED:] if 2 * len(kept) > CHECKED else lines[:0]
        return np.concatenate((np.array(kept, np.int64), rest)), example[:20]

    def _line(self, number: Any) -> str:
        return self.raw[self.starts[number] : self.ends[number]].decode("utf-8", "replace")

    def texts(self) -> Any:
        """Returns a number for each line, independent of spaces and of ASCII case."""
        bare = self.raw.lower().translate(None, b" \t\r\v\f\x1c\x1d\x1e\x1f")
        if not bare.isascii():
            for pattern in _SPACES:
                bare = pattern.sub(b"", bare)
        for sequence in self.unseen:
            bare = bare.replace(sequence, b"")
        hashes = np.fromiter(map(hash, bare.split(b"\n")), np.int64, len(self.ends) + 1)[:-1]
        empty = np.flatnonzero(hashes == NOTHING)
        blank = [n for n in empty if not self._line(n).strip()]
        if blank:
            self.found.add("blank", np.array(blank) + self.found.lines, "")
        if unseen := sorted(set(empty) - set(blank)):
            example = character(self._line(unseen[0]).strip()[0])
            self.found.add("unseen", np.array(unseen) + self.found.lines, example)
        return hashes

    def units(self) -> Any:
        """Counts words, or half of the characters; adds lines that are too long to the findings."""
        if self.found.spaceless:
            heads = ((self.array & 0xC0) != 0x80).view(np.int8)
            units = np.add.reduceat(heads, self.starts, dtype=np.int32) // 2
        else:
            spaces = np.flatnonzero(self.array == 0x20)
            units = np.diff(np.searchsorted(spaces, np.concatenate(([0], self.ends)))) + 1
        long = np.flatnonzero(units > LONG)
        if len(long):
            many = int(units[long[0]]) * (2 if self.found.spaceless else 1)
            example = f"{many:,} {'characters' if self.found.spaceless else 'words'}"
            self.found.add("long", long + self.found.lines, example)
        return units.astype(np.int32)


def _shown(match: bytes) -> str:
    text = match.decode("utf-8", "replace")
    return text if text.isprintable() else character(text[0])


def pair_findings(source: Scan, target: Scan) -> Iterator[Finding]:
    """Finds problems of two files with equally many lines, which translate each other."""
    name, total = f"{source.name}, {target.name}", source.lines
    least, most = np.minimum(source.units, target.units), np.maximum(source.units, target.units)
    same = np.flatnonzero((source.texts == target.texts) & (least > 2))
    if len(same):
        yield Finding("copy", name, len(same), int(same[0]) + 1, "", total)
    uneven = np.flatnonzero((most > RATIO * least) & (most > UNEVEN) & (least > 0))
    if len(uneven):
        example = f"{source.units[uneven[0]]} to {target.units[uneven[0]]} words"
        yield Finding("ratio", name, len(uneven), int(uneven[0]) + 1, example, total)
    both = source.texts * np.int64(31) + target.texts  # wraps around
    _, first = np.unique(both, return_index=True)
    if len(first) < total:
        again = np.setdiff1d(np.arange(total), first, assume_unique=True)
        yield Finding("repeated", name, len(again), int(again[0]) + 1, "", total)


RATIO = 9  # as the recipes drop pairs
UNEVEN = 20  # words of the longer side; ratios of shorter lines are meaningless


def shared_finding(train: Scan, other: Scan) -> Finding | None:
    """Finds lines of one file that are also in another; None without such lines."""
    shared = np.flatnonzero(np.isin(train.texts, other.texts) & (train.texts != NOTHING))
    if not len(shared):
        return None
    return Finding("shared", train.name, len(shared), int(shared[0]) + 1, other.name, train.lines)
