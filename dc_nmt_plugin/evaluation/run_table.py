"""Table of finished runs as numbers, which can be stored beside a recipe."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..errors import UserError
from ..files import load_json, write_json
from ..typed_files import from_json
from .chance import Difference


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """One run, or hypotheses of which only the text is known.

    Attributes:
        label: name of the run's folder or as given, with the decoder if not the main one
        run: its folder, relative to the checkout where it is below it
        arch: value of ``--arch``
        parameters, published_parameters: counts
        updates: of the training
        train_tokens_per_second: target tokens, median; None if the table's benchmark did not
            measure the run
        decode_sentences_per_second: of the test set, or the benchmark's
        score: by the table's metric
        scores: by other metrics
        difference: to the baseline, over `compared_seeds`; None for the baseline
        against: its test; None for the baseline, and where there is too little text
        corrected_p: its p, by Holm for the number of systems
        published_score, published_place: of the same settings of training and decoding
        published_metric: of the published score
        to_published: the run's score by that metric minus the published score; None without one
        seeds: the seeds of the runs in the row's mean
        deviation: standard deviation of their scores; None for one run
        compared_seeds: seeds that the baseline has too; empty: the systems share no seed, so the
            difference is over all seeds; None for the baseline and single runs
    """

    label: str
    run: str
    arch: str | None = None
    parameters: int | None = None
    published_parameters: int | None = None
    updates: int | None = None
    train_tokens_per_second: float | None = None
    decode_sentences_per_second: float | None = None
    score: float
    scores: dict[str, float] = field(default_factory=dict)
    difference: float | None = None
    against: Difference | None = None
    corrected_p: float | None = None
    published_score: float | None = None
    published_place: str | None = None
    published_metric: str | None = None
    to_published: float | None = None
    seeds: int = 1
    deviation: float | None = None
    compared_seeds: list[str] | None = None


@dataclass(frozen=True)
class RunTable:
    """A table of runs on one test set; the first row is the baseline.

    Attributes:
        metric: of ``score``, difference and significance
        signatures: of it and of the other metrics
        sentences: of the test set
        rows: one for each run or system
        speeds: machine and rounds of the benchmark that measured the speeds; None: from logs
    """

    metric: str
    signatures: dict[str, str]
    sentences: int
    rows: list[RunRow]
    speeds: str | None = None

    def save(self, path: Path) -> None:
        """Writes the table as JSON."""
        write_json(path, asdict(self))

    @classmethod
    def read(cls, path: Path) -> RunTable:
        """Raises UserError where the file is not what :meth:`save` wrote."""
        advice = "not written by this version's dc-nmt results --out; make it anew from the runs"
        table = from_json(load_json(path), cls, path, advice, complete=True)
        if not table.rows:
            raise UserError(f"{path}: has no rows")
        return table
