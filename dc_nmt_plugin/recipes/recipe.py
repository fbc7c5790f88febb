"""A published task, as its ``recipe.ini`` describes it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..errors import UserError, choice_problem
from ..papers.ini import Section, read_ini
from ..papers.tasks import directed, tasks
from ..text.preparation import CASINGS, TextSettings

FORMATS = ("plain", "iwslt-tags", "iwslt-xml", "sgm", "tmx")
SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class SourceFile:
    """A file that a recipe starts from.

    Attributes:
        name: under which it is stored and looked for
        urls: its homes, tried in this order
        checksum: (``sha256`` or ``md5``, hexadecimal digest); None where nobody published one
        size: bytes, where known, roughly
        inside: (archive, member): the file is found there, before its own homes are tried
        also: other names under which users have it
        note: what to tell a user who has to get it by hand
    """

    name: str
    urls: tuple[str, ...]
    checksum: tuple[str, str] | None
    size: int | None
    inside: tuple[str, str] | None
    also: tuple[str, ...]
    note: str


@dataclass(frozen=True)
class Part:
    """A parallel corpus within the files.

    Attributes:
        members: language → (file, member of that archive or None); of a TMX file both are the same
        lines: exact number of pairs, where known
        optional: left out with a notice where its file is missing
        tokenised: the text comes tokenised
        titles: of IWSLT's tag files, keep titles and descriptions (without their tags)
        apostrophe: write ’ as ', as fairseq's preparation of IWSLT test sets does
    """

    name: str
    format: str
    members: dict[str, tuple[str, str | None]]
    lines: int | None
    optional: bool
    tokenised: bool
    titles: bool
    apostrophe: bool


@dataclass(frozen=True)
class Bpe:
    """One way to cut words: joint codes or a code a language, one dictionary or two.

    ``max_tokens`` and ``ratio`` clean the training pairs after it; ``vocabulary`` is the published
    number of types.
    """

    name: str
    operations: int
    joint: bool
    joined_dictionary: bool
    max_tokens: int
    ratio: float
    vocabulary: int | None


class Recipe:
    """One task, in one direction.

    Args:
        path: its ``recipe.ini``
        direction: such as ``es-en``; default the recipe's first
    """

    def __init__(self, path: Path, direction: str | None = None) -> None:
        self.path = path
        self.sections = read_ini(path)
        self.task = self._only("task")
        self.folder = path.parent.name
        pair = self.task.text("pair")
        if not re.fullmatch("[a-z]{2}-[a-z]{2}", pair):
            raise self.task.problem("pair", f"{pair!r} is not two language codes such as de-en")
        self.pair = (pair[:2], pair[3:])
        self.directions = self.task.words("directions") or [pair]
        self.direction = direction or self.directions[0]
        self.source, self.target = self.direction[:2], self.direction[3:]

    @property
    def name(self) -> str:
        """What the scripts call it: the folder, with the languages in this direction's order."""
        return directed(self.folder, self.pair, self.direction)

    @property
    def title(self) -> str:
        return self.task.text("title")

    def nearby(self) -> list[Path]:
        """Folders beside the checkout in which the files may already be."""
        folders = [self.path.parents[2] / name for name in self.task.words("nearby")]
        return [folder for folder in folders if folder.is_dir()]

    @cached_property
    def files(self) -> dict[str, SourceFile]:
        """Every file, by name."""
        found = {}
        for name, section in self.named("file").items():
            kind = next((kind for kind in ("sha256", "md5") if kind in section.values), None)
            inside = section.words("inside")
            if inside and len(inside) != 2:
                raise section.problem("inside", "is not an archive and a member of it")
            size = section.text("bytes", "").lstrip("~")
            found[name] = SourceFile(
                name=name,
                urls=tuple(section.lines("urls")),
                checksum=(kind, section.text(kind).lower()) if kind else None,
                size=int(float(size)) if size else None,
                inside=(inside[0], inside[1]) if inside else None,
                also=tuple(section.words("also")),
                note=" ".join(section.words("note")),
            )
        return found

    @cached_property
    def parts(self) -> dict[str, Part]:
        """Every corpus, by name."""
        return {name: self._part(name, s) for name, s in self.named("part").items()}

    @property
    def splits(self) -> Section:
        return self._only("splits")

    @property
    def text(self) -> Section:
        return self._only("text")

    @cached_property
    def text_settings(self) -> TextSettings:
        """How the text is prepared: ``[text]``."""
        section = self.text
        tokenizer = section.choice("tokenizer", ("moses", "none"))
        return TextSettings(
            tokenizer=tokenizer,
            hyphens=section.yes("hyphens"),
            casing=section.choice("casing", CASINGS),
            punctuation=section.yes("punctuation"),
            max_tokens=section.number("max_tokens", 0) or 0,
            ratio=section.decimal("ratio", 0),
            undo=section.choice("undo", (tokenizer, "moses", "none")),
        )

    @cached_property
    def bpe(self) -> dict[str, Bpe]:
        """The ways to cut words, by name; the first, ``""``, is the default."""
        return {
            name: Bpe(
                name=name,
                operations=section.number("operations") or 0,
                joint=section.choice("joint", ("yes", "no")) == "yes",
                joined_dictionary=section.choice("dictionary", ("joint", "separate")) == "joint",
                max_tokens=section.number("max_tokens", 0) or 0,
                ratio=section.decimal("ratio", 0),
                vocabulary=section.number("vocabulary"),
            )
            for name, section in self.named("bpe").items()
        }

    def split_parts(self, split: str) -> list[Part]:
        """The corpora of a split; none where validation text is taken from the training text."""
        names = self.splits.words(split)
        if names[:1] in (["random"], ["every"]):
            return []
        for name in names:
            problem = choice_problem(f"{self.path}, [splits] {split}", name, self.parts)
            if problem:
                raise UserError(problem)
        return [self.parts[name] for name in names]

    def _part(self, name: str, section: Section) -> Part:
        kind = section.choice("format", FORMATS)
        members: dict[str, tuple[str, str | None]] = {}
        for language in self.pair:
            words = section.words("both" if kind == "tmx" else language)
            if not 1 <= len(words) <= 2 or words[0] not in self.files:
                key = "both" if kind == "tmx" else language
                raise section.problem(key, f"{' '.join(words)!r} is not FILE or FILE MEMBER")
            members[language] = (words[0], words[1] if len(words) == 2 else None)
        return Part(
            name,
            kind,
            members,
            section.number("lines"),
            section.yes("optional"),
            section.yes("tokenised"),
            section.choice("titles", ("keep", "drop")) == "keep",
            section.yes("apostrophe"),
        )

    def _only(self, name: str) -> Section:
        if name not in self.sections:
            raise UserError(f"{self.path}: the section [{name}] is missing")
        return self.sections[name]

    def named(self, kind: str) -> dict[str, Section]:
        """Sections ``kind`` and ``kind:NAME`` by NAME ("" for the plain one)."""
        return {
            name.partition(":")[2]: section
            for name, section in self.sections.items()
            if name.partition(":")[0] == kind
        }


def load(name: str, folder: Path | None = None) -> Recipe:
    """The recipe of a task; with its languages swapped, in the other direction if it is published.

    Raises:
        UserError: no such task
    """
    known = tasks(folder)
    task = name.rstrip("/").rsplit("/", 1)[-1]  # also as the path of its folder
    problem = choice_problem("task", task, known)
    if problem:
        raise UserError(problem)
    return Recipe(*known[task])
