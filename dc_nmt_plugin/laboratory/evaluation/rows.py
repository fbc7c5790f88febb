"""The rows of ``dc-nmt results``: what a table has and stores. A row is four parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...files import read_json
from ...runs.call import Call, Start
from .chance import Difference

if TYPE_CHECKING:
    from ..finding import Run
    from .systems import ComparedSystem


@dataclass(frozen=True, kw_only=True)
class SystemFacts:
    """What is compared: one run, or the runs of one system."""

    label: str  # name of the run, with that of the translation if it is not the recipe's
    run: str  # its folder, relative to the checkout where it is below it
    arch: str | None = None
    parameters: int | None = None
    parameters_counted: bool = False  # in the checkpoints; else as recorded
    updates: int | None = None
    start: str | None = None  # checkpoint that was fine-tuned
    seeds: int = 1
    train_tokens_per_second: float | None = None  # target tokens
    decode_sentences_per_second: float | None = None


@dataclass(frozen=True, kw_only=True)
class MeasuredScore:
    """The score by the table's metric, and by other metrics: means over the seeds."""

    value: float
    deviation: float | None = None  # standard deviation over the seeds; None for one run
    further: dict[str, float] = field(default_factory=dict)  # metric → score
    repeated: int = 0  # hypotheses of a run that are one sentence, if they are half of the text


@dataclass(frozen=True, kw_only=True)
class BaselineTest:
    """The difference to the baseline; the baseline itself has the defaults."""

    difference: float | None = None  # over `compared_seeds`
    # seeds that the baseline has too; empty: the systems share no seed, so the difference is over
    # all seeds; None for single runs
    compared_seeds: list[str] | None = None
    against: Difference | None = None  # None for too little text
    # by Holm for the number of systems; None if `differs` or `other_seed`
    corrected_p: float | None = None
    differs: str = ""  # what differs from the baseline's training and search, besides the model
    settings: str = ""  # of the training that also differ, and are no reason for no stars
    other_seed: bool = False  # of the baseline's system


@dataclass(frozen=True, kw_only=True)
class PublishedScore:
    """The score that a paper prints for a run; None if it prints none."""

    score: float | None = None
    metric: str | None = None
    printed_in: str | None = None  # such as "thesis, Table 3.2"; other values that are printed
    differs: str = ""  # settings of the run that are not the paper's, in words
    to_published: float | None = None  # the run's score by that metric minus the published one


@dataclass(frozen=True, kw_only=True)
class RunOrigin:
    """How a run of a row was made, and SHA-256 digests by which its files are known."""

    name: str
    training_text: str | None  # as recorded
    hypotheses: str  # as they are now: the translated sentences without BPE, one a line
    starts: tuple[Start, ...]  # of its training
    translated: Call | None
    scored: Call | None
    score: float | None = None  # by the table's metric; None in tables of earlier versions


@dataclass(frozen=True, kw_only=True)
class ResultRow:
    """One run, or the runs of one system."""

    system: SystemFacts
    score: MeasuredScore
    test: BaselineTest = BaselineTest()
    published: PublishedScore = PublishedScore()
    runs: tuple[RunOrigin, ...] = ()  # none in tables of earlier versions


@dataclass(frozen=True)
class ResultTable:
    """A table of systems on one test set; the first row is the baseline."""

    metric: str  # of scores, differences and tests
    signatures: dict[str, str]  # of it and of the other metrics
    sentences: int  # of the test set
    rows: list[ResultRow]
    references: str | None = None  # SHA-256 of the reference sentences, one a line
    speeds: str | None = None  # how the speeds were measured; None: by the runs' own logs

    @property
    def is_recorded(self) -> bool:
        """Returns True for scores as recorded, without tests: the test set's text was not there."""
        return self.references is None and all(row.test.difference is None for row in self.rows)

    @classmethod
    def read(cls, path: Path) -> ResultTable:
        """Reads a stored table.

        Raises:
            UserError: the file does not hold a table
        """
        return read_json(path, cls)


@dataclass(frozen=True)
class Results:
    """A table, and the systems that it was made of.

    Attributes:
        runs: label of a row → its runs; empty for a stored table
        systems: text of the first run of each row; none where the text of the test set is not here
    """

    table: ResultTable
    runs: dict[str, list[Run]] = field(default_factory=dict)
    systems: list[ComparedSystem] = field(default_factory=list)
