"""Schema of the YAML files of recipes: ``tasks/TASK.yaml`` and ``papers.yaml``."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..text.preparation import TextSettings

FORMATS = ("plain", "iwslt-tags", "iwslt-xml", "sgm", "tmx")


@dataclass
class SourceFile:
    """A source file of a recipe.

    Attributes:
        name: for storing and finding it
        urls: its URLs, tried in this order
        path: of a user's own text, relative to the recipe's folder
        sha256, md5: published checksum, hexadecimal
        bytes: approximate size
        modified: time of the last change before the checksum, seconds since 1970; 0: unknown
        listed: publisher of the checksum; "" for a checksum measured on a copy
        inside: archive and member with the file, tried before the URLs
        also: other names that users have for it
        note: for a user who has to get it by hand
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


@dataclass(kw_only=True)
class Part:
    """A parallel corpus within the files.

    Attributes:
        files: language → file, or file and member of that archive; of a TMX file ``both``
        lines: exact number of pairs, if known
        optional: left out with a notice if its file is missing
        tokenised: the published text is tokenised
        titles: of IWSLT's tag files, keep titles and descriptions (without their tags)
        apostrophe: write ’ as ', as fairseq's preparation of IWSLT test sets does
    """

    name: str = ""
    format: str = field(metadata={"choices": FORMATS})
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
        train, valid, test: names of parts; ``random N`` or ``every N`` (the N-th, 2N-th, …) takes
            validation text from the training text
        tests: further test sets: name → names of parts
        seed: of the random choice
        exclude_test: drop training pairs whose source is in a test set
        exclude_valid: the same for the validation set
        train_lines, valid_lines, test_lines: published numbers of pairs; "~" marks rounded numbers
    """

    train: list[str] = field(default_factory=list)
    valid: list[str] = field(default_factory=list)
    test: list[str] = field(default_factory=list)
    tests: dict[str, list[str]] = field(default_factory=dict)
    seed: int = 1
    exclude_test: bool = False
    exclude_valid: bool = False
    train_lines: str = ""
    valid_lines: str = ""
    test_lines: str = ""


@dataclass(kw_only=True)
class Segmentation:
    """One segmentation.

    Attributes:
        kind: ``bpe`` of tokenised text, or ``sentencepiece``
        operations: of BPE; of sentencepiece the number of pieces
        joint: one code for both languages
        dictionary: one for both languages, or two
        max_tokens, ratio: drop training pairs that are longer or more uneven after BPE; 0 for no
            limit
        max_words: the same for words, before BPE
        vocabulary: published number of types
    """

    name: str = ""
    kind: str = field(default="bpe", metadata={"choices": ("bpe", "sentencepiece")})
    operations: int
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
        source: place of the published settings, and the unpublished settings
        big: entry of ``papers.yaml`` for sizes that begin with ``big``
        gpus, hours: of a training run on a cluster, by default
        size: suffix of an architecture's name; "" for none
        bpe: name of the segmentation
        sizes: of this task only: value of ``--size``, part of the run's name → flags of
            fairseq-train; the first is the default
        tokens: of one update, all GPUs together
        max_tokens: of one GPU at a time, at most; default ``tokens``
        updates, save_every: number of training updates, and between two checkpoints
        average: number of averaged last checkpoints; 0: only the best one
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


@dataclass(kw_only=True)
class Task:
    """``tasks/TASK.yaml``.

    Attributes:
        pair: its two languages, such as ``de-en``
        directions: published directions; default the pair's own
        archs: architectures that ``dc-nmt run`` trains by default
        papers, licence: for the reader
        lacks: why the published training text cannot be had, so that ``dc-nmt prepare`` needs
            --any-counts; "" if it can
        pair_bytes: of a pair of sentences, approximately
        nearby: folders beside the checkout that may have the files
        files, parts, bpe: by name
        settings: ``all``, and differences for a family or an architecture
    """

    title: str
    pair: str
    directions: list[str] = field(default_factory=list)
    archs: list[str] = field(default_factory=lambda: ["transformer_standard"])
    papers: str = ""
    licence: str = ""
    lacks: str = ""
    pair_bytes: int = 250
    nearby: list[str] = field(default_factory=list)
    files: dict[str, SourceFile] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    splits: Splits = field(default_factory=Splits)
    text: TextSettings = field(default_factory=TextSettings)
    bpe: dict[str, Segmentation] = field(default_factory=dict)
    settings: dict[str, SettingsEntry] = field(default_factory=dict)
