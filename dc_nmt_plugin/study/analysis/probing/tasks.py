"""Reads SentEval's ten probing tasks.

A. Conneau, G. Kruszewski, G. Lample, L. Barrault, M. Baroni, "What you can cram into a single
vector: Probing sentence embeddings for linguistic properties", ACL 2018.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ....text.lines import read_lines

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


@dataclass(frozen=True)
class ProbingTask:
    """Holds sentences and their classes."""

    name: str  # one of TASKS
    sentences: list[str]  # tokenised
    labels: list[int]  # class of each, from 0
    classes: list[str]  # names of the classes
    split: list[str]  # for each sentence one of SPLITS

    def rows(self, split: str) -> list[int]:
        """Returns the numbers of a split's sentences, from 0."""
        return [row for row, split_of_row in enumerate(self.split) if split_of_row == split]

    @property
    def majority(self) -> float:
        """Returns the accuracy, %, of always predicting the most frequent class of training."""
        training = Counter(self.labels[row] for row in self.rows("tr"))
        ((most_frequent, _),) = training.most_common(1)
        test = [self.labels[row] for row in self.rows("te")]
        return 100 * test.count(most_frequent) / len(test)


def read_tasks(folder: Path, only: Sequence[str]) -> list[ProbingTask]:
    """Reads SentEval's files ``data/probing/*.txt``: lines with split, class, sentence, by tabs."""
    return [_read(folder / FILES[name], name) for name in only or TASKS]


def _read(path: Path, name: str) -> ProbingTask:
    rows = [line.split("\t") for line in read_lines(path)]
    classes = sorted({label for _, label, _ in rows})
    class_of = {label: i for i, label in enumerate(classes)}
    return ProbingTask(
        name,
        [line for _, _, line in rows],
        [class_of[label] for _, label, _ in rows],
        classes,
        [split for split, _, _ in rows],
    )
