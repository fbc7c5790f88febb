"""A task in one direction, from ``tasks/TASK.yaml`` or a user's ``recipe.yaml``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import NODEFAULT, structs

from ...errors import UsageError, UserError, check_choices, choice_problem
from ...files import folder_problem
from ...flags import FLAGS, SHORT, flag_name, listed
from ..raw_text import TextSettings
from ..typed_yaml import read_yaml

SPLITS = ("train", "valid", "test")
TASKS = Path(__file__).with_name("tasks")
OWN = "recipe.yaml"  # in a folder that dc-nmt new made
# flag → the key, or the option of a command, that sets it in its place; a recipe's flag would win
# over it in some places, and be lost in others
SET_ELSEWHERE = {flag_name(name): flag.elsewhere for name, flag in FLAGS.items() if flag.elsewhere}

# one word; @@ and ▁ are marks of pieces, and fairseq has four symbols
TAG = "(?!(?:</?s>|<pad>|<unk>)$)[^\\s@▁]*"

Positive = Annotated[int, msgspec.Meta(ge=1)]
Natural = Annotated[int, msgspec.Meta(ge=0)]
Names = Annotated[list[str], msgspec.Meta(min_length=1)]
# published number of pairs; "~" marks a rounded one
Pairs = Annotated[str, msgspec.Meta(pattern=r"^(~?\s*[\d,]+)?$")]


# -- the content of the YAML files: the name of a file, part or segmentation is its key ---------


class SourceFile(msgspec.Struct):
    name: str = ""
    urls: list[str] = []  # tried in this order
    path: str = ""  # of a user's own text, relative to the recipe's folder
    sha256: str | None = None  # published checksums, hexadecimal
    md5: str | None = None
    bytes: int | None = None  # approximate size
    modified: int = 0  # last change before the checksum, seconds since 1970; 0: unknown
    listed: str = ""  # publisher of the checksum; "": it was measured on a copy
    inside: tuple[str, str] | None = None  # archive and member, tried before the URLs
    also: list[str] = []  # other names that users have for it
    note: str = ""  # for a user who has to get it by hand

    @property
    def checksum(self) -> tuple[str, str] | None:
        """Returns (``sha256`` or ``md5``, hexadecimal digest); None if none is published."""
        if self.sha256:
            return "sha256", self.sha256.lower()
        return ("md5", self.md5.lower()) if self.md5 else None


class Part(msgspec.Struct, kw_only=True):
    """A parallel corpus within the files."""

    name: str = ""
    # binarised: its files are those of fairseq-preprocess, and it has none here
    format: Literal["plain", "iwslt-tags", "iwslt-xml", "sgm", "binarised"]
    # language → file, or file and member of that archive
    files: dict[str, str] = {}
    lines: Positive | None = None  # exact number of pairs, if known
    optional: bool = False  # left out with a notice if its file is missing
    tokenised: bool = False  # the published text is tokenised
    apostrophe: bool = False  # write ’ as ', as fairseq's preparation of IWSLT test sets does
    repeat: Positive = 1  # times that it stands in the training text
    # word before each source sentence of the training text, such as of back-translations
    tag: Annotated[str, msgspec.Meta(pattern=f"^{TAG}$")] = ""

    def member(self, language: str) -> tuple[str, str | None]:
        """Returns the file, and the member of that archive or None, for a language."""
        name, _, member = self.files.get(language, "").partition(" ")
        return name, member or None


class Splits(msgspec.Struct):
    """Assignment of parts to splits: lists of the parts' names.

    ``valid`` may also be ``random N`` or ``every N`` (the N-th, 2N-th, …): validation text is then
    taken from the training text.
    """

    train: Names
    valid: Names
    test: Names
    tests: dict[str, Names] = {}  # further test sets
    seed: int = 1  # of the random choice
    exclude_test: bool = False  # drop training pairs whose source is in a test set
    exclude_valid: bool = False  # the same for validation parts
    train_lines: Pairs = ""
    valid_lines: Pairs = ""
    test_lines: Pairs = ""


class Segmentation(msgspec.Struct, kw_only=True):
    """One segmentation of the text into pieces."""

    name: str = ""
    segment: Literal["subword-nmt", "sentencepiece"] = "subword-nmt"  # by which program
    # of BPE; number of sentencepiece's pieces, of all where they are fewer; 0: `codes` are given
    operations: Natural = 0
    # names in `files` of codes and of fairseq's dictionaries that are used as they are: one for
    # both languages, or those of source and target; none: learnt on the training text
    codes: list[str] = []
    dictionaries: list[str] = []
    joint: bool = True  # one code for both languages
    dictionary: Literal["joint", "separate"] = "joint"
    max_tokens: Natural = 0  # longer training pairs are dropped after BPE; 0 for no limit
    # more uneven training pairs are dropped; 0 for no limit
    ratio: Annotated[float, msgspec.Meta(ge=0)] = 0
    max_words: Natural = 0  # as max_tokens, for words

    def __post_init__(self) -> None:
        if not (self.operations or self.codes or self.dictionaries):
            raise ValueError("operations or codes are missing")

    @property
    def joining(self) -> tuple[str, ...]:
        """Returns flags of fairseq-generate, which joins the pieces; dc-nmt score joins BPE's."""
        return ("--remove-bpe", "sentencepiece") if self.segment == "sentencepiece" else ()

    @property
    def suffix(self) -> str:
        """Returns the suffix of the names of its folders; empty for the default."""
        return "" if self.name in ("", "default") else f"-{self.name}"


class SettingsEntry(msgspec.Struct):
    """Settings of training, decoding and scoring; None: those of the entries before it."""

    like: str | None = None  # entry of papers.yaml that this one changes
    source: str | None = None  # place of the published settings, and the unpublished ones
    big: str | None = None  # entry of papers.yaml for sizes that begin with "big"
    size: str | None = None  # suffix of an architecture's name; "" for none
    bpe: str | None = None  # name of the segmentation
    # of this task only: value of --size → flags of fairseq-train; the first is the default
    sizes: dict[str, str] | None = None
    tokens: Positive | None = None  # of one update, all GPUs together
    max_tokens: Positive | None = None  # of one GPU at a time, at most; default: tokens
    updates: Positive | None = None
    save_every: Positive | None = None  # updates between two checkpoints
    average: Natural | None = None  # averaged last checkpoints; 0: only the best one
    flags: str | None = None  # of fairseq-train
    decode: str | None = None  # of fairseq-generate
    paper: str | None = None  # metric of the paper, of dc-nmt score
    metrics: str | None = None  # all metrics


class Task(msgspec.Struct, kw_only=True):
    """``tasks/TASK.yaml``."""

    title: str
    pair: str  # its two languages, such as de-en
    directions: list[str] = []  # published; default the pair's own
    archs: Names = msgspec.field(default_factory=lambda: ["transformer_standard"])  # of dc-nmt run
    papers: str = ""  # for the reader, as licence
    licence: str = ""
    # why the published training text cannot be had, so that dc-nmt prepare needs --any-counts
    lacks: str = ""
    files: dict[str, SourceFile] = {}
    parts: dict[str, Part] = {}
    splits: Splits
    text: TextSettings = TextSettings()
    bpe: dict[str, Segmentation] = {}
    # "all", a direction, a family, an architecture: later ones change earlier ones
    settings: dict[str, SettingsEntry] = {}

    def __post_init__(self) -> None:
        for name in (*self.files, *self.parts, *self.bpe, *self.splits.tests):
            if not re.fullmatch(r"\w[\w.+-]*", name):  # with / it could be any other folder
                raise ValueError(f"{name!r} names a file or folder: use letters, digits, _ . + -")
        for items in (self.files, self.parts, self.bpe):
            for name, item in items.items():
                item.name = name


# -- a task in one direction -------------------------------------------------------------------


class Recipe:
    """One task, in one direction.

    Args:
        path: its YAML file
        direction: such as ``es-en``; default the recipe's first

    Attributes:
        task: content of the file, with all defaults
        own: the recipe has a user's own text, and all output stays in its folder
        folder: name of its folder, in ``examples`` or the user's, and of its data in ``runs``
        cli_name: its name on a command line
        pair: languages, in the order of the folder's name
        directions: published directions
        source, target: languages, in this direction
        name: the folder, with the languages in this direction
        splits: train, valid, test, and further test sets

    Raises:
        UserError: the file has an unknown key or value, or contradicts itself
    """

    def __init__(self, path: Path, direction: str | None = None) -> None:
        self.path, self.own = path, path.name == OWN
        self.folder = path.resolve().parent.name if self.own else path.stem
        self.cli_name = str(path.parent) if self.own else self.folder
        self.task = read_yaml(path, Task)
        pair = self.task.pair
        codes = re.fullmatch("([a-z]{2,3})-([a-z]{2,3})", pair)
        if not codes or codes[1] == codes[2]:
            raise self.problem("pair", f"{pair!r} is not two language codes such as de-en")
        first, second = codes.groups()
        self.pair = (first, second)
        self.directions = self.task.directions or [pair]
        both = (pair, f"{second}-{first}")
        check_choices(f"{path}: directions", self.directions, both, error=UserError)
        self.direction = direction or self.directions[0]
        self.source, self.target = self.direction.split("-")
        self.name = _name_in(self.folder, pair, self.direction)
        self.splits = (*SPLITS, *self.task.splits.tests)

    def check(self) -> None:
        """Checks the values of the file, before anything is prepared.

        Raises:
            UserError: a value that would be lost, or with which scoring would fail after training
        """
        self._check_parts()
        for name, segmentation in self.task.bpe.items():
            given = [*segmentation.codes, *segmentation.dictionaries]
            place = f"{self.path}: bpe.{name}"
            check_choices(place, given, self.task.files, error=UserError)
        for name, entry in self.task.settings.items():
            key = f"settings.{name}"
            self._check_flags(f"{key}.decode", entry.decode or "", SET_ELSEWHERE)
            of_training = SET_ELSEWHERE | {"--max-tokens": "max_tokens"}
            self._check_flags(f"{key}.flags", entry.flags or "", of_training)
            for size, flags in (entry.sizes or {}).items():
                self._check_flags(f"{key}.sizes.{size}", flags, of_training)
            if self.own:  # the tests do this for the others
                self._check_metrics(key, entry)

    def _check_parts(self) -> None:
        for split in self.splits:
            if split != "valid" or not self.held_out():
                rules = ["random N", "every N"] if split == "valid" else []
                parts, place = [*self.task.parts, *rules], f"{self.path}: splits.{split}"
                check_choices(place, self._part_names(split), parts, error=UserError)
            for part in self.split_parts(split) if split != "train" else ():
                if part.tag or part.repeat > 1:
                    key = f"parts.{part.name}"
                    raise self.problem(key, "tag and repeat are for training text; leave them out")

    def _check_flags(self, key: str, flags: str, set_elsewhere: Mapping[str, str]) -> None:
        for word in shlex.split(flags):
            flag = SHORT.get(word, word).partition("=")[0]
            if flag in set_elsewhere:
                raise self.problem(key, f"{flag} is set by {set_elsewhere[flag]}; leave it out")

    def _check_metrics(self, key: str, entry: SettingsEntry) -> None:
        from ..evaluation.metrics import METRICS  # not at the top: sacreBLEU takes a second

        paper = [] if entry.paper is None else [entry.paper]
        check_choices(f"{self.path}: {key}.paper", paper, METRICS, error=UserError)
        metrics = listed(entry.metrics or "")
        check_choices(f"{self.path}: {key}.metrics", metrics, METRICS, error=UserError)

    def problem(self, key: str, sentence: str) -> UserError:
        """Returns an error about the value of a key."""
        return UserError(f"{self.path}: {key}: {sentence}")

    def local(self, file: SourceFile) -> Path | None:
        """Returns the path of a file on this machine, from the recipe."""
        return self.path.parent / file.path if file.path else None

    @property
    def is_binarised(self) -> bool:
        """Returns True for text that fairseq-preprocess has binarised before."""
        return any(part.format == "binarised" for part in self.task.parts.values())

    def given(self, names: Sequence[str]) -> dict[str, Path]:
        """Returns language → path of its codes or dictionary; empty without names in `files`."""
        paths = [self.path.parent / self.task.files[name].path for name in names]
        return dict(zip(self.pair, (paths[0], paths[-1]), strict=True)) if paths else {}

    def local_files(self) -> list[Path]:
        """Returns the paths of all files on this machine that the recipe reads."""
        return [path for file in self.task.files.values() if (path := self.local(file))]

    def output_folder(self, name: str, out: Path | None, sample: int | None) -> Path:
        """Returns the folder of data and runs: ``out``, else the recipe's or ``runs/NAME``.

        Args:
            name: the recipe's, in a direction
            out: folder that the user gave, or None
            sample: number of pairs of a sample, for the name ``…-sampleN``
        """
        if out:
            return out
        small = f"sample{sample}" if sample else ""
        if self.own:
            return self.path.parent / small
        return Path("runs") / (f"{name}-{small}" if small else name)

    def data_folder(self, out: Path | None, sample: int | None) -> Path:
        """Returns the folder of the prepared text, which both directions of a task share."""
        return self.output_folder(self.folder, out, sample) / "data"

    def subset(self, split: str) -> str:
        """Returns fairseq's name of a split; further test sets are test1, test2, …

        Raises:
            UserError: the recipe has no such split
        """
        check_choices("--subset", [split], self.splits[1:])
        return split if split in SPLITS else f"test{self.splits.index(split) - 2}"

    def split_parts(self, split: str) -> list[Part]:
        """Returns the corpora of a split; none if validation text comes from the training text."""
        if split == "valid" and self.held_out():
            return []
        return [self.task.parts[name] for name in self._part_names(split)]

    def _part_names(self, split: str) -> list[str]:
        splits = self.task.splits
        return splits.tests[split] if split in splits.tests else list(getattr(splits, split))

    def held_out(self) -> tuple[str, int] | None:
        """Returns ``random`` or ``every`` and N, if validation is taken from the training text."""
        match = re.fullmatch(r"(random|every) ([1-9]\d*)", " ".join(self.task.splits.valid))
        return (match[1], int(match[2])) if match else None

    def text_facts(self) -> dict[str, Any]:
        """Returns everything that the text depends on, for its stamp."""
        from ...text.languages import known_as

        parts = {name: set_values(part) for name, part in self.task.parts.items()}
        local = {name: file for name, file in self.task.files.items() if file.path}
        tagged = any(part.tag for part in self.task.parts.values())
        return {
            "languages": [known_as(language) for language in self.pair],
            **({"tagged": self.source} if tagged else {}),
            "parts": parts,
            "splits": set_values(self.task.splits),
            "text": set_values(self.task.text),
            "files": {name: self._identity(file) for name, file in local.items()},
        }

    def _identity(self, file: SourceFile) -> list[Any]:
        """Returns the checksum of a local file, and its size and time if they changed."""
        path, identity = self.local(file), [file.sha256]
        if path is not None and path.is_file():
            state = path.stat()
            if (state.st_size, int(state.st_mtime)) != (file.bytes, file.modified):
                return [*identity, state.st_size, state.st_mtime]
        return identity


def set_values(content: msgspec.Struct) -> dict[str, Any]:
    """Returns what a recipe sets in a mapping, without names and defaults, for a stamp.

    A new setting with a default leaves the stamps of text that was prepared before as they are.
    """
    values = {}
    for item in structs.fields(content):
        value = getattr(content, item.name)
        make = item.default_factory
        default = item.default if make is NODEFAULT else make()
        if item.name != "name" and value != default:
            values[item.name] = value
    return values


def _name_in(folder: str, pair: str, direction: str) -> str:
    """Returns a task's name in a direction: ``iwslt14_es_en`` in en-es is ``iwslt14_en_es``."""
    return folder.replace("_" + pair.replace("-", "_"), "_" + direction.replace("-", "_"), 1)


@cache
def tasks() -> dict[str, tuple[Path, str]]:
    """Returns (YAML file, direction) of every published direction of every task."""
    known = {}
    for path in sorted(TASKS.glob("*.yaml")):
        task = read_yaml(path, Task)
        for direction in task.directions or [task.pair]:
            known[_name_in(path.stem, task.pair, direction)] = (path, direction)
    return known


def load(name: str) -> Recipe:
    """Returns the recipe of a task; swapped languages name the other published direction.

    Args:
        name: of the task, or a path that ends in it, or a folder that ``dc-nmt new`` made

    Raises:
        UserError: no such task
    """
    own = Path(name)
    own = own if own.name == OWN else own / OWN
    if own.is_file():
        if problem := folder_problem(own.parent):
            raise UsageError(f"TASK: {problem}")
        return _load(own, None, own.stat().st_mtime_ns)
    task = name.rstrip("/").rsplit("/", 1)[-1]
    path, direction = TASKS / f"{task}.yaml", None
    if not path.is_file():
        problem = choice_problem("task", task, tasks())
        if problem:
            raise UsageError(f"{problem} Nor is it a folder with a {OWN}, as dc-nmt new makes it.")
        path, direction = tasks()[task]
    return _load(path, direction, path.stat().st_mtime_ns)


@cache
def _load(path: Path, direction: str | None, _changed: int) -> Recipe:
    recipe = Recipe(path, direction)
    recipe.check()
    return recipe
