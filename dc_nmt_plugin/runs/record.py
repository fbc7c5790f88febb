"""The record of a run, ``run.json``: its training, its translations and their scores.

``docs/runs.md`` describes every field. Paths are relative to the folder of the record where they
are in it or beside it. None means unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from ..errors import UserError
from ..files import load_json, locked, read_json, write_json
from .call import Call, Start

SCHEMA = 1
RECORD = "run.json"
CURVE = "curve.log"  # learning curve, beside the record
CHECKPOINTS = "checkpoints"  # folder for --save-dir inside the folder of a run

# of hypotheses: output of fairseq-generate, raw text, or tokenised text without BPE
Kind = Literal["generated", "raw", "tokenized"]
# flag without its dashes → value; True for a switch
Flags = dict[str, bool | int | float | str]


@dataclass(frozen=True)
class TextFile:
    """A text file, with the SHA-256 of its content."""

    path: str
    sha256: str | None = None


@dataclass(frozen=True)
class Score:
    """One score of a translation."""

    metric: str  # a name in dc-nmt score --help
    value: float  # 0 to 100
    signature: str  # sacreBLEU's
    text: str  # processing of both sides before scoring
    paper: bool = False  # this is the paper's metric


@dataclass(frozen=True)
class Member:
    """One model of an ensemble."""

    run: str | None  # name in its record
    checkpoint: str | None
    architecture: str | None = None
    parameters: int | None = None
    averaged: int | None = None  # as those of a decoding
    updates: int | None = None


@dataclass(frozen=True)
class Decoding:
    """One translation of a set of text, with its scores."""

    name: str = ""  # of dc-nmt evaluate --as; "" for the recipe's decoding
    subset: str = "test"  # translated set: test, valid or another
    search: Flags = field(default_factory=dict)  # flags of fairseq-generate
    hypotheses: str | None = None  # scored file; None before scoring
    kind: Kind = "generated"  # of the hypotheses
    # SHA-256 of the scored sentences as they were translated, without BPE, one a line
    hypotheses_sha256: str | None = None
    tokenizer: str = "none"  # of the text before BPE
    truecased: bool = False  # the tokenised text of both sides
    references: tuple[TextFile, ...] = ()  # raw text
    tokenized_reference: TextFile | None = None  # as the training text, without BPE
    source: TextFile | None = None  # raw text
    plain: str | None = None  # detokenised hypotheses
    checkpoint: str | None = None  # model that translated
    averaged: int | None = None  # number of averaged last checkpoints; 0: the best one
    updates: int | None = None  # of the model
    ensemble: tuple[Member, ...] = ()  # models of other runs that translated together with it
    sentences: int | None = None
    sentences_per_second: float | None = None  # of the search alone
    tokens_per_second: float | None = None
    device: str | None = None  # processor or GPUs of the search
    sources: dict[str, str] = field(default_factory=dict)  # mechanisms that were trained otherwise
    scores: tuple[Score, ...] = ()
    stamp: str | None = None  # of the command line that scored
    translated: Call | None = None
    scored: Call | None = None

    @property
    def key(self) -> str:
        """Returns subset and name; "" for the recipe's decoding of the test set."""
        subset = "" if self.subset == "test" else self.subset
        return ".".join(filter(None, (subset, self.name)))

    def score(self, metric: str) -> Score | None:
        """Returns the score by a metric; None if the translation has none."""
        return next((score for score in self.scores if score.metric == metric), None)


@dataclass(frozen=True)
class Data:
    """The text of a run."""

    source: str | None  # languages
    target: str
    folder: str | None = None  # made by fairseq-preprocess
    origin: str | None = None  # another folder of fairseq-preprocess, to which its files are links
    dictionaries: dict[str, str] = field(default_factory=dict)  # language → SHA-256
    text: str | None = None  # SHA-256 of the binarised training text
    valid: str | None = None  # SHA-256 of the binarised validation text


@dataclass(frozen=True)
class Training:
    """Numbers and facts of the training."""

    updates: int | None = None
    tokens: int | None = None  # of an update, at most
    parameters: int | None = None  # trained ones, shared ones once
    tokens_per_second: float | None = None  # target tokens, without validation
    seconds: float | None = None  # with validation and saving
    start: str | None = None  # SHA-256 of the checkpoint of --finetune-from-model
    device: str | None = None  # processors or GPUs, of all starts
    versions: dict[str, str] = field(default_factory=dict)  # of earlier records
    log: str | None = None  # learning curve, or fairseq-train's output


@dataclass(frozen=True)
class Segment:
    """The updates of a run until its settings were changed."""

    until_update: int
    settings: Flags  # all, as those of the record
    sources: dict[str, str] = field(default_factory=dict)  # as those of the record


@dataclass(frozen=True)
class Record:
    """The content of ``run.json``."""

    schema: int
    name: str  # row in tables, which the folder's name does not change
    system: str  # name without the seed: runs of one system differ in the seed alone
    data: Data
    task: str | None = None  # recipe
    architecture: str | None = None  # value of --arch
    seed: int | None = None
    settings: Flags = field(default_factory=dict)  # flags of fairseq-train, of the last updates
    segments: tuple[Segment, ...] = ()  # updates before, with other settings
    starts: tuple[Start, ...] = ()  # whose updates the run has
    mechanisms: dict[str, str] = field(default_factory=dict)  # from --user-dir → its folder
    sources: dict[str, str] = field(default_factory=dict)  # of these → digest of the source
    training: Training = field(default_factory=Training)
    checkpoints: tuple[str, ...] = ()
    decodings: tuple[Decoding, ...] = ()
    written_in: str | None = None  # folder of the record when it was written

    def decoding(self, key: str = "") -> Decoding | None:
        """Returns the decoding of that subset and name; "" for the recipe's of the test set."""
        return next((each for each in self.decodings if each.key == key), None)


def run_folder(save_dir: Path) -> Path:
    """Returns the folder of a run: fairseq's ``--save-dir``, or that of ``RUN/checkpoints``."""
    return save_dir.parent if save_dir.parent.name and save_dir.name == CHECKPOINTS else save_dir


def read_record(path: Path) -> Record:
    """Reads a record, or the record in the folder of a run.

    Raises:
        UserError: it is missing, damaged, or of another version
    """
    path = record_path(path)
    values = load_json(path)
    if not isinstance(values, dict) or "schema" not in values:
        raise UserError(f"{path}: is no record of a run; dc-nmt train and dc-nmt score write them")
    # before the fields are read, because another version has others
    if values["schema"] != SCHEMA:
        raise UserError(
            f"{path}: has schema {values['schema']!r:.40}, and this version reads {SCHEMA}: update "
            "dc_nmt_plugin"
        )
    return read_json(path, Record)


def record_path(path: Path) -> Path:
    """Returns the path of the record of a run's folder; other paths as they are.

    Raises:
        UserError: the folder has no record
    """
    if not path.is_dir():
        return path
    if (path / RECORD).is_file():
        return path / RECORD
    runs = [record.parent.name for record in sorted(path.glob(f"*/{RECORD}"))]
    reason = f"no {RECORD} in it; fairseq-train with --user-dir dc_nmt_plugin writes it"
    if runs:
        reason = f"is a folder of runs; name one of them, such as {path / runs[0]}"
    elif (path.parent / RECORD).is_file():
        reason = f"is a folder of the run {path.parent}; name that folder"
    raise UserError(f"{path}: {reason}")


def record_of(folder: Path) -> Record | None:
    """Returns the record in a folder; None where ``fairseq-train`` left a model alone."""
    return read_record(folder) if (folder / RECORD).is_file() else None


def update_record(path: Path, change: Callable[[Record | None], Record]) -> Record:
    """Replaces the record at `path` by what `change` makes of it (or of None), and returns that."""
    folder = path.resolve().parent
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):  # not the file, which is replaced
        for part in folder.glob(f".{path.name}.*"):  # of a killed process
            part.unlink()
        record = change(read_record(path) if path.is_file() else None)
        write_json(path, asdict(record))
    return record


def with_decoding(record: Record, decoding: Decoding) -> Record:
    """Returns a record with a new decoding in place of the one of the same subset and name."""
    decodings = {known.key: known for known in record.decodings} | {decoding.key: decoding}
    return replace(record, decodings=tuple(decodings.values()))
