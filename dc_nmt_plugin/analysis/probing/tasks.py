"""Reads SentEval's ten probing tasks, and makes three of them from any text.

A. Conneau, G. Kruszewski, G. Lample, L. Barrault, M. Baroni, "What you can cram into a single
vector: Probing sentence embeddings for linguistic properties", ACL 2018.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import UsageError, UserError
from ...text.lines import read_lines

GROUPS = {
    "Surface": ("SentLen", "WC"),
    "Syntactic": ("TDep", "BShift", "ToCo"),
    "Semantic": ("Tense", "SubjN", "ObjN", "SoMo", "CoIn"),
}
FILES = {
    "SentLen": "sentence_length.txt",
    "WC": "word_content.txt",
    "TDep": "tree_depth.txt",
    "BShift": "bigram_shift.txt",
    "ToCo": "top_constituents.txt",
    "Tense": "past_present.txt",
    "SubjN": "subj_number.txt",
    "ObjN": "obj_number.txt",
    "SoMo": "odd_man_out.txt",
    "CoIn": "coordination_inversion.txt",
}
TASKS = tuple(FILES)
SPLITS = ("tr", "va", "te")
FROM_TEXT = ("SentLen", "WC", "BShift")
BINS = 6  # of sentence lengths, as SentEval has
WORDS = 1000  # of WC, at most
RARE, COMMON = 10, 0.01  # WC: least number of sentences with a word, and their greatest share


@dataclass(frozen=True)
class ProbingTask:
    """Holds sentences and their classes.

    Attributes:
        name: one of :data:`TASKS`
        sentences: tokenised
        labels: class of each, from 0
        classes: their names
        split: for each sentence one of :data:`SPLITS`
    """

    name: str
    sentences: list[str]
    labels: list[int]
    classes: list[str]
    split: list[str]

    def places(self, split: str) -> list[int]:
        """Returns the places of a split's sentences."""
        return [place for place, own in enumerate(self.split) if own == split]

    @property
    def majority(self) -> float:
        """Returns the accuracy, %, of always predicting the most frequent class of training."""
        training = Counter(self.labels[place] for place in self.places("tr"))
        most = training.most_common(1)[0][0]
        test = self.places("te")
        return 100 * sum(self.labels[place] == most for place in test) / len(test)


def read_tasks(folder: Path, only: Sequence[str], limit: int | None = None) -> list[ProbingTask]:
    """Reads SentEval's files ``data/probing/*.txt``: lines with split, class, sentence, by tabs.

    Args:
        folder: with the files
        only: names of tasks; empty for all
        limit: greatest number of training sentences (a tenth in the other splits)

    Raises:
        UserError: a file is missing, or a line has another form
    """
    return [_read(folder / FILES[name], name, limit) for name in only or TASKS]


def _read(path: Path, name: str, limit: int | None) -> ProbingTask:
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        parts = line.split("\t")
        if len(parts) != 3 or parts[0] not in SPLITS:
            raise UserError(
                f"{path}, line {number}: is not 'tr, va or te', a class and a sentence, separated "
                "by tabs."
            )
        rows.append(parts)
    return _task(name, rows, str(path), limit)


def tasks_from_text(path: Path, only: Sequence[str], limit: int | None) -> list[ProbingTask]:
    """Makes the three tasks without annotation from a tokenised text, one sentence on each line.

    Ten twelfths are for training, one for validation and one for the test, as in SentEval.

    Args:
        path: the text
        only: names of tasks; empty for all three
        limit: greatest number of training sentences

    Raises:
        UserError: the text is too small, or a task needs annotation
    """
    annotated = [name for name in only if name not in FROM_TEXT]
    if annotated:
        known = ", ".join(FROM_TEXT)
        raise UsageError(
            f"--only: {annotated[0]} needs annotated sentences; --from-text makes {known}."
        )
    sentences = list(dict.fromkeys(" ".join(line.split()) for line in read_lines(path)))
    sentences = [line for line in sentences if len(line.split()) > 2]
    random.Random(1).shuffle(sentences)
    made = {"SentLen": _lengths, "WC": _word_contents, "BShift": _shifts}
    tasks = []
    for name in only or FROM_TEXT:
        pairs = made[name](sentences, random.Random(1))
        if len({label for label, _ in pairs}) < 2 or len(pairs) < 24:
            raise UsageError(f"--from-text {path}: is too small for {name}.")
        rows = []
        for i, (label, line) in enumerate(pairs):
            split = {10: "te", 11: "va"}.get(i % 12, "tr")
            rows.append([split, label, line])
        tasks.append(_task(name, rows, str(path), limit))
    return tasks


def _task(name: str, rows: list[list[str]], path: str, limit: int | None) -> ProbingTask:
    if limit is not None:
        left = {"tr": limit, "va": max(1, limit // 10), "te": max(1, limit // 10)}
        kept = []
        for row in rows:
            left[row[0]] -= 1
            if left[row[0]] >= 0:
                kept.append(row)
        rows = kept
    classes = sorted({label for _, label, _ in rows})
    number = {label: i for i, label in enumerate(classes)}
    task = ProbingTask(
        name,
        [line for _, _, line in rows],
        [number[label] for _, label, _ in rows],
        classes,
        [split for split, _, _ in rows],
    )
    for split in SPLITS:
        if not task.places(split):
            raise UserError(f"{path}: has no sentence of the split {split}.")
    return task


def _lengths(sentences: list[str], _: random.Random) -> list[tuple[str, str]]:
    """Makes bins of about equal size; sentences of one length are in one bin."""
    lengths = sorted(len(line.split()) for line in sentences)
    if not lengths:
        return []
    edges = sorted({lengths[len(lengths) * part // BINS] for part in range(1, BINS)} - {lengths[0]})
    return [(str(sum(len(line.split()) >= e for e in edges)), line) for line in sentences]


def _word_contents(sentences: list[str], _: random.Random) -> list[tuple[str, str]]:
    """Finds sentences with exactly one of up to 1,000 words of medium frequency; its class."""
    counts = Counter(word for line in sentences for word in set(line.split()))
    most = COMMON * len(sentences)
    middle = [w for w, count in counts.most_common() if RARE <= count <= most and w.isalpha()]
    targets = set(middle[:WORDS])
    pairs = []
    for line in sentences:
        there = [word for word in line.split() if word in targets]
        if len(there) == 1:
            pairs.append((there[0], line))
    return pairs


def _shifts(sentences: list[str], choice: random.Random) -> list[tuple[str, str]]:
    """Swaps two neighbours in every other sentence (class I); the others are unchanged (O)."""
    pairs = []
    for number, line in enumerate(sentences):
        words = line.split()
        # the last word, mostly a full stop, stays where it is
        places = [i for i in range(len(words) - 2) if words[i] != words[i + 1]]
        if number % 2 == 0 or not places:
            pairs.append(("O", line))
            continue
        i = choice.choice(places)
        words[i], words[i + 1] = words[i + 1], words[i]
        pairs.append(("I", " ".join(words)))
    # the split must not depend on even and odd places
    choice.shuffle(pairs)
    return pairs
