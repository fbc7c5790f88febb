"""Schema of the YAML files of recipes: ``tasks/TASK.yaml`` and ``papers.yaml``.

The annotations stay types, and what may be missing is X | None: omegaconf 2.0 reads no others.
"""

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from ..text.preparation import TextSettings

FORMATS = ("plain", "iwslt-tags", "iwslt-xml", "sgm", "tmx")


@dataclass
class SourceFile:
    """A source file of a recipe.

    Attributes:
        name: under which it is stored and looked for
        urls: its URLs, tried in this order
        path: where it is on this machine, seen from the recipe's folder: of one's own text
        sha256, md5: published checksum, hexadecimal
        bytes: its size, roughly
        modified: when it was last changed as its checksum was taken, seconds since 1970; 0: unknown
        listed: who publishes the checksum; "" for one that was measured on a copy
        inside: archive and member: the file is found there, before its URLs are tried
        also: other names under which users have it
        note: for users who have to download it by hand
    """

    name: str = ""
    urls: list[str] = field(default_factory=list)
    path: str = ""
    sha256: str | None = None
    md5: str | None = None
    bytes: int | None = None
    modified: int = 0
    listed: str = ""
    inside: list[str] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    note: str = ""

    @property
    def checksum(self) -> tuple[str, str] | None:
        """Returns (``sha256`` or ``md5``, hexadecimal digest); None if none is published."""
        if self.sha256:
            return "sha256", self.sha256.lower()
        return ("md5", self.md5.lower()) if self.md5 else None


@dataclass
class Part:
    """A parallel corpus within the files.

    Attributes:
        files: language → file, or file and member of that archive; of a TMX file ``both``
        lines: exact number of pairs, where known
        optional: left out with a notice where its file is missing
        tokenised: the text comes tokenised
        titles: of IWSLT's tag files, keep titles and descriptions (without their tags)
        apostrophe: write ’ as ', as fairseq's preparation of IWSLT test sets does
    """

    name: str = ""
    format: str = field(default=MISSING, metadata={"choices": FORMATS})
    files: dict[str, str] = field(default_factory=dict)
    lines: int | None = None
    optional: bool = False
    tokenised: bool = False
    titles: bool = True
    apostrophe: bool = False

    def member(self, language: str) -> tuple[str, str | None]:
        """Returns the file, and the member of that archive or None, for a language."""
        name, _, member = self.files.get("both", self.files.get(language, "")).partition(" ")
        return name, member or None


@dataclass
class Splits:
    """Assignment of parts to splits.

    Attributes:
        train, valid, test: names of parts; validation text may be taken from the training text by
            ``random N`` or ``every N`` (the N-th, 2N-th, …)
        tests: further test sets: name → names of parts
        seed: of the random choice
        exclude_test: leave training pairs out whose source is in a test set
        exclude_valid: the same of the validation set
        train_lines, valid_lines, test_lines: published numbers of pairs; "~" where rounded
    """

    train: list[str] = field(default_factory=list)
    valid: list[str] = field(default_factory=list)
    test: list[str] = field(default_factory=list)
    tests: dict[str, Any] = field(default_factory=dict)  # lists; omegaconf 2.0 has no type for them
    seed: int = 1
    exclude_test: bool = False
    exclude_valid: bool = False
    train_lines: str = ""
    valid_lines: str = ""
    test_lines: str = ""


@dataclass
class Segmentation:
    """One BPE segmentation.

    Attributes:
        operations: of BPE
        joint: one code for both languages
        dictionary: one for both languages, or two
        max_tokens, ratio: training pairs that are longer or more uneven after it are dropped; 0
            for no limit
        max_words: the same for words, before it
        vocabulary: published number of types
    """

    name: str = ""
    operations: int = MISSING
    joint: bool = True
    dictionary: str = field(default="joint", metadata={"choices": ("joint", "separate")})
    max_tokens: int = 0
    ratio: float = 0
    max_words: int = 0
    vocabulary: int | None = None

    @property
    def suffix(self) -> str:
        """Returns the suffix of the names of its folders; empty for the default."""
        return "" if self.name in ("", "default") else f"-{self.name}"


@dataclass
class SettingsEntry:
    """A paper's settings of training, decoding and scoring; None if another entry has them.

    Attributes:
        like: entry of ``papers.yaml`` that this one changes
        source: where the settings are published, and what is not
        big: entry of ``papers.yaml`` for sizes that begin with ``big``
        gpus, hours: default of a training run on a cluster
        size: put behind an architecture's name; "" for none
        bpe: name of the segmentation
        sizes: of this task alone: value of ``--size``, part of the run's name → flags of
            fairseq-train; the first is the default
        tokens: of one update, all GPUs together
        max_tokens: what one GPU is given at a time at most; default ``tokens``
        updates, save_every: training updates, and between two checkpoints
        average: last checkpoints that are averaged; 0: the best one alone
        flags, decode: of fairseq-train and fairseq-generate
        paper, metrics: of dc-nmt score: the paper's line, and all
    """

    like: str | None = None
    source: str | None = None
    big: str | None = None
    gpus: int | None = None
    hours: int | None = None
    size: str | None = None
    bpe: str | None = None
    sizes: dict[str, str] | None = None
    tokens: int | None = None
    max_tokens: int | None = None
    updates: int | None = None
    save_every: int | None = None
    average: int | None = None
    flags: str | None = None
    decode: str | None = None
    paper: str | None = None
    metrics: str | None = None


@dataclass
class Papers:
    """``papers.yaml``: settings that several tasks share, by name."""

    settings: dict[str, SettingsEntry] = field(default_factory=dict)


@dataclass
class Task:
    """``tasks/TASK.yaml``.

    Attributes:
        pair: its two languages, such as ``de-en``
        directions: those that are published; default the pair's own
        archs: default of ``dc-nmt run``
        papers, licence: for the reader
        pair_bytes: of a pair of sentences, roughly
        nearby: folders beside the checkout in which the files may already be
        files, parts, bpe: by name
        settings: ``all``, and what is different for a family or an architecture
    """

    title: str = MISSING
    pair: str = MISSING
    directions: list[str] = field(default_factory=list)
    archs: list[str] = field(default_factory=lambda: ["transformer_standard"])
    papers: str = ""
    licence: str = ""
    pair_bytes: int = 250
    nearby: list[str] = field(default_factory=list)
    files: dict[str, SourceFile] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    splits: Splits = field(default_factory=Splits)
    text: TextSettings = field(default_factory=TextSettings)
    bpe: dict[str, Segmentation] = field(default_factory=dict)
    settings: dict[str, SettingsEntry] = field(default_factory=dict)
