"""Schema of the YAML files of recipes: ``tasks/TASK.yaml`` and ``papers.yaml``.

The ``name`` of a file, corpus or segmentation is its key in the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..text import TextSettings


@dataclass
class SourceFile:
    """A source file of a recipe."""

    name: str = ""
    urls: list[str] = field(default_factory=list)  # tried in this order
    path: str = ""  # of a user's own text, relative to the recipe's folder
    sha256: str | None = None  # published checksums, hexadecimal
    md5: str | None = None
    bytes: int | None = None  # approximate size
    modified: int = 0  # last change before the checksum, seconds since 1970; 0: unknown
    listed: str = ""  # publisher of the checksum; "": it was measured on a copy
    inside: tuple[str, str] | None = None  # archive and member, tried before the URLs
    also: list[str] = field(default_factory=list)  # other names that users have for it
    note: str = ""  # for a user who has to get it by hand

    @property
    def checksum(self) -> tuple[str, str] | None:
        """Returns (``sha256`` or ``md5``, hexadecimal digest); None if none is published."""
        if self.sha256:
            return "sha256", self.sha256.lower()
        return ("md5", self.md5.lower()) if self.md5 else None


@dataclass(kw_only=True)
class Part:
    """A parallel corpus within the files."""

    name: str = ""
    format: Literal["plain", "iwslt-tags", "iwslt-xml", "sgm"]
    # language → file, or file and member of that archive
    files: dict[str, str] = field(default_factory=dict)
    lines: int | None = None  # exact number of pairs, if known
    optional: bool = False  # left out with a notice if its file is missing
    tokenised: bool = False  # the published text is tokenised
    titles: bool = True  # of iwslt-tags: keep titles and descriptions, without their tags
    apostrophe: bool = False  # write ’ as ', as fairseq's preparation of IWSLT test sets does

    def member(self, language: str) -> tuple[str, str | None]:
        """Returns the file, and the member of that archive or None, for a language."""
        name, _, member = self.files.get(language, "").partition(" ")
        return name, member or None


@dataclass
class Splits:
    """Assignment of parts to splits: lists of the parts' names.

    ``valid`` may also be ``random N`` or ``every N`` (the N-th, 2N-th, …): validation text is then
    taken from the training text.
    """

    train: list[str] = field(default_factory=list)
    valid: list[str] = field(default_factory=list)
    test: list[str] = field(default_factory=list)
    tests: dict[str, list[str]] = field(default_factory=dict)  # further test sets
    seed: int = 1  # of the random choice
    exclude_test: bool = False  # drop training pairs whose source is in a test set
    exclude_valid: bool = False  # the same for the validation set
    train_lines: str = ""  # published numbers of pairs; "~" marks rounded numbers
    valid_lines: str = ""
    test_lines: str = ""


@dataclass(kw_only=True)
class Segmentation:
    """One segmentation of tokenised text by BPE."""

    name: str = ""
    operations: int  # of BPE
    joint: bool = True  # one code for both languages
    dictionary: Literal["joint", "separate"] = "joint"
    max_tokens: int = 0  # longer training pairs are dropped after BPE; 0 for no limit
    ratio: float = 0  # more uneven training pairs are dropped; 0 for no limit
    max_words: int = 0  # as max_tokens, for words

    @property
    def suffix(self) -> str:
        """Returns the suffix of the names of its folders; empty for the default."""
        return "" if self.name in ("", "default") else f"-{self.name}"


@dataclass
class SettingsEntry:
    """Settings of training, decoding and scoring; None: those of the entries before it."""

    like: str | None = None  # entry of papers.yaml that this one changes
    source: str | None = None  # place of the published settings, and the unpublished ones
    big: str | None = None  # entry of papers.yaml for sizes that begin with "big"
    size: str | None = None  # suffix of an architecture's name; "" for none
    bpe: str | None = None  # name of the segmentation
    # of this task only: value of --size → flags of fairseq-train; the first is the default
    sizes: dict[str, str] | None = None
    tokens: int | None = None  # of one update, all GPUs together
    max_tokens: int | None = None  # of one GPU at a time, at most; default: tokens
    updates: int | None = None
    save_every: int | None = None  # updates between two checkpoints
    average: int | None = None  # averaged last checkpoints; 0: only the best one
    flags: str | None = None  # of fairseq-train
    decode: str | None = None  # of fairseq-generate
    paper: str | None = None  # metric of the paper, of dc-nmt score
    metrics: str | None = None  # all metrics


@dataclass
class Papers:
    """``papers.yaml``: settings that several tasks share, by name."""

    settings: dict[str, SettingsEntry] = field(default_factory=dict)


@dataclass(kw_only=True)
class Task:
    """``tasks/TASK.yaml``."""

    title: str
    pair: str  # its two languages, such as de-en
    directions: list[str] = field(default_factory=list)  # published; default the pair's own
    archs: list[str] = field(default_factory=lambda: ["transformer_standard"])  # of dc-nmt run
    papers: str = ""  # for the reader, as licence
    licence: str = ""
    # why the published training text cannot be had, so that dc-nmt prepare needs --any-counts
    lacks: str = ""
    nearby: list[str] = field(default_factory=list)  # folders beside the checkout with files
    files: dict[str, SourceFile] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    splits: Splits = field(default_factory=Splits)
    text: TextSettings = field(default_factory=TextSettings)
    bpe: dict[str, Segmentation] = field(default_factory=dict)
    # "all", a direction, a family, an architecture: later ones change earlier ones
    settings: dict[str, SettingsEntry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for items in (self.files, self.parts, self.bpe):
            for name, item in items.items():
                item.name = name
