"""Draws distinct pairs of lines, splits them, and writes them as plain text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from random import Random

from ...errors import UsageError, check_choices
from ...files import sha256, write_json, write_lines
from .cldr import AND_OR, FAMILIES, Family, Names, Style, join, name_list, tidy
from .codes import LANGUAGES

FORMAT = 1  # increase when the same versions and seed give other text
HELD_OUT = 500  # pairs for validation and as many for test
LEAST_PAIRS = 100
PATIENCE = 2_000  # draws in a row without a new pair before giving up

Pair = tuple[str, str]


@dataclass(frozen=True)
class Corpus:
    """Holds three disjoint lists of (source, target) lines."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]

    def splits(self) -> dict[str, list[Pair]]:
        return {"train": self.train, "valid": self.valid, "test": self.test}


def make_corpus(source_lang: str, target_lang: str, *, pairs: int, seed: int) -> Corpus:
    """Generates ``pairs`` pairs of lines, up to 500 each for validation and test.

    The same arguments and the same versions of babel and num2words give the same lines.
    No line, on either side, occurs twice in the whole corpus, so the three parts are
    disjoint on both sides; and no phrase has two translations in either direction.

    Raises:
        UserError: an unknown language, twice the same, or an impossible number of pairs.
    """
    for flag, lang in (("--source-lang", source_lang), ("--target-lang", target_lang)):
        check_choices(flag, [lang], LANGUAGES)
    if source_lang == target_lang:
        raise UsageError(
            f"--source-lang, --target-lang: both are {source_lang}; "
            f"choose two different ones of {', '.join(LANGUAGES)}"
        )
    if pairs < LEAST_PAIRS:
        raise UsageError(f"--pairs {pairs}: too few, at least {LEAST_PAIRS} are needed")
    lines = list(itertools.islice(_distinct_lines(source_lang, target_lang, seed), pairs))
    if len(lines) < pairs:
        raise UsageError(
            f"--pairs {pairs}: too many, {source_lang}-{target_lang} gives {len(lines)} "
            "different pairs"
        )
    held_out = min(HELD_OUT, pairs // 10)
    return Corpus(
        train=lines[2 * held_out :], valid=lines[:held_out], test=lines[held_out : 2 * held_out]
    )


def write_corpus(corpus: Corpus, source_lang: str, target_lang: str, seed: int, out: Path) -> Path:
    """Writes ``train.en`` … ``test.de`` and, last, ``manifest.json``; returns its path."""
    files = {}
    for split, lines in corpus.splits().items():
        for side, lang in enumerate((source_lang, target_lang)):
            path = out / f"{split}.{lang}"
            write_lines(path, [pair[side] for pair in lines])
            files[path.name] = {"lines": len(lines), "sha256": sha256(path)}
    manifest = {
        "format": FORMAT,
        "source_lang": source_lang,
        "target_lang": target_lang,
        "seed": seed,
        "versions": {name: version(name) for name in ("babel", "num2words")},
        "files": files,
    }
    write_json(out / "manifest.json", manifest)
    return out / "manifest.json"


def _distinct_lines(source_lang: str, target_lang: str, seed: int) -> Iterator[Pair]:
    rng = Random(seed)
    names = Names.shared_by(source_lang, target_lang)
    phrases = OneToOne()
    lines = OneToOne()
    failures = 0
    while failures < PATIENCE:
        families = _families(rng)
        meanings = [family(rng, names) for family in families]
        # A list inside a list is hard to read: semicolons then.
        style: Style = ";" if name_list in families else rng.choice((*AND_OR, ";"))
        rendered = [(tidy(m(source_lang)), tidy(m(target_lang))) for m in meanings]
        whole = join(meanings, style) if len(meanings) > 1 else meanings[0]
        line = (tidy(whole(source_lang)), tidy(whole(target_lang)))
        failures += 1
        if all(phrases.accepts(pair) for pair in rendered) and lines.is_new(line):
            for pair in rendered:
                phrases.add(pair)
            lines.add(line)
            failures = 0
            yield line


def _families(rng: Random) -> list[Family]:
    weights = [weight for weight, _ in FAMILIES]
    families = [family for _, family in FAMILIES]
    return rng.choices(families, weights, k=rng.choice((1, 1, 2, 2, 3)))


class OneToOne:
    """Keeps pairs in which no side has a second translation."""

    def __init__(self) -> None:
        self._targets: dict[str, str] = {}
        self._sources: dict[str, str] = {}

    def add(self, pair: Pair) -> None:
        source, target = pair
        self._targets[source] = target
        self._sources[target] = source

    def accepts(self, pair: Pair) -> bool:
        source, target = pair
        known = (self._targets.get(source, target), self._sources.get(target, source))
        return bool(source and target) and known == (target, source)

    def is_new(self, pair: Pair) -> bool:
        return pair[0] not in self._targets and pair[1] not in self._sources
