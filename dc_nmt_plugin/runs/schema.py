"""Schema of ``run.json``: everything that is known about a run, its translations and their scores.

``docs/runs.md`` describes every field. Paths are relative to the folder of the record where they
are in it or beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SCHEMA = 1
RECORD = "run.json"
MAIN = "main"  # decoder of a model that has only one
KINDS = ("generated", "raw", "tokenized")

# flag without its dashes → value; True for a switch
Flags = dict[str, bool | int | float | str]


@dataclass(frozen=True)
class TextFile:
    """A text file.

    Attributes:
        path: relative to the record's folder, or absolute
        sha256: of its content; None if unknown
    """

    path: str
    sha256: str | None = None


@dataclass(frozen=True)
class Score:
    """One score of a translation.

    Attributes:
        metric: a name in ``dc-nmt score --help``
        value: 0 to 100
        signature: sacreBLEU's
        text: processing of both sides before scoring
        paper: this is the paper's metric
    """

    metric: str
    value: float
    signature: str
    text: str
    paper: bool = False


@dataclass(frozen=True)
class Decoding:
    """One translation of a set of text, with its scores.

    Attributes:
        name: of ``dc-nmt evaluate --as``; "" for the recipe's decoding
        subset: translated set: test, valid or another
        search: flags of fairseq-generate
        hypotheses: what was scored; None before scoring
        kind: of `hypotheses`: ``generated`` (output of fairseq-generate), ``raw`` or ``tokenized``
        tokenizer: of the text before BPE
        truecased: the tokenised text of both sides is truecased
        references: raw text
        tokenized_reference: as the training text was tokenised, without BPE
        source: raw text
        plain: file of the detokenised hypotheses
        checkpoint: the model that translated
        averaged: number of averaged last checkpoints; 0: the best one
        updates: of the model
        sentences: of the set
        sentences_per_second, tokens_per_second: of the search alone
        device: processor or GPUs of the search
        scores: by every metric
        stamp: of everything that the scores depend on
    """

    name: str = ""
    subset: str = "test"
    search: Flags = field(default_factory=dict)
    hypotheses: str | None = None
    kind: str = field(default="generated", metadata={"choices": KINDS})
    tokenizer: str = "none"
    truecased: bool = False
    references: tuple[TextFile, ...] = ()
    tokenized_reference: TextFile | None = None
    source: TextFile | None = None
    plain: str | None = None
    checkpoint: str | None = None
    averaged: int | None = None
    updates: int | None = None
    sentences: int | None = None
    sentences_per_second: float | None = None
    tokens_per_second: float | None = None
    device: str | None = None
    scores: tuple[Score, ...] = ()
    stamp: str | None = None

    @property
    def way(self) -> str:
        """Returns subset and name; "" for the recipe's decoding of the test set."""
        return ".".join(filter(None, ("" if self.subset == "test" else self.subset, self.name)))

    @property
    def decoder(self) -> str | None:
        """Returns the decoder, and whether without fusion or in 8 bits; None for the main one as
        trained."""
        decoder = self.search.get("decode-with", MAIN)
        found = [str(decoder)] if decoder != MAIN else []
        found += ["without fusion"] if self.search.get("no-aux-fusion") else []
        found += ["in 8 bits"] if self.search.get("int8") else []
        return " ".join(found) or None

    def score(self, *metrics: str) -> Score | None:
        """Returns the score by the first of these metrics that the translation has."""
        found = {score.metric: score for score in self.scores}
        return next((found[metric] for metric in metrics if metric in found), None)

    @property
    def paper_metric(self) -> str | None:
        """Returns the metric that is marked as the paper's."""
        return next((score.metric for score in self.scores if score.paper), None)


@dataclass(frozen=True)
class Data:
    """The text of a run.

    Attributes:
        source, target: languages
        folder: made by fairseq-preprocess; None without a training run
        dictionaries: language → sha256 of its dictionary
        text: sha256 of the binarised training text
    """

    source: str | None
    target: str
    folder: str | None = None
    dictionaries: dict[str, str] = field(default_factory=dict)
    text: str | None = None


@dataclass(frozen=True)
class Training:
    """Numbers and facts of the training; None where unknown.

    Attributes:
        updates: made
        tokens: of an update, at most
        parameters: trained ones, shared ones once
        tokens_per_second: target tokens, median over the log's intervals
        seconds: with validation and saving
        device: processors or GPUs
        versions: package → version
        log: fairseq-train's output
    """

    updates: int | None = None
    tokens: int | None = None
    parameters: int | None = None
    tokens_per_second: float | None = None
    seconds: float | None = None
    device: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    log: str | None = None


@dataclass(frozen=True)
class Record:
    """The content of ``run.json``.

    Attributes:
        schema: version of this schema
        name: row in tables, which the folder's name does not change
        system: name without the seed: runs of one system differ in the seed alone
        task: recipe; None for other text
        architecture: value of ``--arch``
        seed: of the training run
        settings: flags of fairseq-train
        data, training: of the run
        checkpoints: files
        decodings: translations with their scores
        written_in: folder in which the record was written, where text that did not move is found;
            None in a kept run
    """

    schema: int
    name: str
    system: str
    data: Data
    task: str | None = None
    architecture: str | None = None
    seed: int | None = None
    settings: Flags = field(default_factory=dict)
    training: Training = field(default_factory=Training)
    checkpoints: tuple[str, ...] = ()
    decodings: tuple[Decoding, ...] = ()
    written_in: str | None = None

    def decoding(self, way: str = "") -> Decoding | None:
        """Returns the decoding of that subset and name; "" for the recipe's of the test set."""
        return next((each for each in self.decodings if each.way == way), None)
