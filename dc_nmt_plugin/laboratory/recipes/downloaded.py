"""Reads a downloaded file that has both sides of a corpus, as a stream of pairs.

``dc-nmt new`` writes such a file once as plain text; no other command knows these forms.
"""

from __future__ import annotations

import codecs
import html
import re
import zipfile
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any
from xml.parsers import expat

import msgspec
from tqdm import tqdm

from ...errors import UsageError, UserError, counted
from ...files import sha256, write_parallel
from ...text.languages import known_as
from ...text.lines import decoded, opened, stream_lines, with_plain_ends
from ..raw_text.checks import is_visible
from .formats import Pair, together
from .sources import DAMAGE

HEAD = 100  # rows from which the columns are chosen
PIECE = 1 << 16  # bytes of XML at a time
_CODE = r"([a-z]{2,3}(?:_[a-z]+)?)"
_CODES = re.compile(rf"(?:^|[._-]){_CODE}-{_CODE}(?=[._]|$)", re.I)  # of en-fr.tmx.gz
_NO_TEXT = re.compile(r"\s*(?:[-+]?[\d.,]+(?:e[-+]?\d+)?|https?://\S+)?\s*", re.I)
_MARKUP = {"bpt", "ept", "it", "ph", "ut"}  # elements of TMX whose content is no text


def write_plain(
    flag: str, path: Path, codes: Sequence[str | None], to: Path, name: str
) -> tuple[tuple[str, str], list[Path], str]:
    """Writes ``to/NAME.LANG`` for both sides of a downloaded file, without pairs with a blank side.

    Args:
        flag: that named the file, for messages
        path: of the file
        codes: languages of source and target; None: as the file names them
        to: folder
        name: of the set

    Returns:
        the languages, the two files, and a line about the origin

    Raises:
        UserError: the file is damaged or has no such form, or lacks a language
    """
    corpus = _open(flag, path)
    languages = _choose(flag, corpus, codes)
    blank = 0

    def visible_pairs() -> Iterator[Pair]:
        nonlocal blank
        for pair in tqdm(corpus.pairs(*languages), path.name, unit=" pairs", disable=None):
            if all(map(is_visible, pair)):
                yield pair
            else:
                blank += 1

    paths = [to / f"{name}.{code}" for code in languages]
    count = write_parallel(paths, visible_pairs())
    if None in codes and len(corpus.languages) > 2:  # some came after the first unit
        raise _ask_for_languages(flag, corpus)
    if not count:
        there = ", ".join(corpus.languages) or "no language"
        raise UserError(f"{flag}: {path} has no pair in {' and '.join(languages)}; it has {there}")
    if blank:
        corpus.notes.append(f"{counted(blank, 'pair')} with a blank side left out")
    return languages, paths, "; ".join([f"{path} (SHA-256 {sha256(path)})", *corpus.notes])


class _Corpus(ABC):
    """A downloaded file.

    Attributes:
        path: of the file
        languages: their codes, in the order in which the file names them; may grow while it is read
        notes: what was taken of the file
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.languages = _languages_of(path.name)
        self.notes: list[str] = []

    @abstractmethod
    def pairs(self, source: str, target: str) -> Iterator[Pair]:
        """Yields the pairs in two languages; then the notes are complete."""


def _open(flag: str, path: Path) -> _Corpus:
    with opened(path) as stream:
        head = stream.read(PIECE)
    if head.startswith((b"PK\3\4", b"PK\5\6")):
        return _Zip(path)
    is_wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = head.decode("utf-16" if is_wide else "utf-8-sig", "ignore").lstrip()
    if re.match(r"<(\?xml|!DOCTYPE|tmx)\b", text):
        return _Tmx(path)
    if re.match(r'\{\s*"', text):
        return _JsonLines(path)
    if "\t" in text:
        return _Tsv(path)
    raise UsageError(
        f"{flag}: {path} has no columns with a tab between them, and is no TMX, JSON lines or zip "
        "file; give two files, of source and target"
    )


def _choose(flag: str, corpus: _Corpus, codes: Sequence[str | None]) -> tuple[str, str]:
    """Returns the languages of source and target, and notes where the file decided."""
    source, target = codes
    if None in codes:
        if len(corpus.languages) != 2:
            raise _ask_for_languages(flag, corpus)
        first, second = corpus.languages
        source = source or (second if target == first else first)
        target = target or (second if source == first else first)
        corpus.notes.append(f"from {source} to {target}, as the file names them")
    return str(source), str(target)


def _ask_for_languages(flag: str, corpus: _Corpus) -> UsageError:
    there = f"has {', '.join(corpus.languages)}" if corpus.languages else "names no languages"
    return UsageError(f"{flag}: {corpus.path} {there}: give --source-lang and --target-lang")


def _languages_of(name: str) -> list[str]:
    """Returns the languages in a name such as ``WikiMatrix.en-fr.tsv.gz``; none of another."""
    codes = _CODES.search(name)
    languages = list(map(known_as, codes.groups())) if codes else []
    return languages if all(map(_is_language, languages)) else []


def _is_language(code: str) -> bool:
    from babel import Locale

    return known_as(code) in Locale("en").languages


class _Tsv(_Corpus):
    """Two columns of a table; where there are more, the first two that can be text."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        rows = [line.split("\t") for line in islice(stream_lines(path, fix=True), HEAD)]
        columns = [[row[n] for row in rows] for n in range(min(map(len, rows)))]
        self.columns = [
            number
            for number, cells in enumerate(columns)
            if len(columns) == 2 or not all(map(_NO_TEXT.fullmatch, cells))
        ]
        if len(self.columns) < 2:
            raise UserError(f"{path}: not two columns have text in the first {HEAD} rows")
        self.columns = self.columns[:2]
        self.notes.append("columns {} and {}".format(*(n + 1 for n in self.columns)))

    def pairs(self, source: str, target: str) -> Iterator[Pair]:
        self.languages = self.languages or [source, target]
        first, second = self.columns
        if self.languages == [target, source]:
            first, second = second, first
        elif self.languages != [source, target]:
            return
        for number, line in enumerate(stream_lines(self.path, fix=True), start=1):
            cells = line.split("\t")
            if len(cells) > max(self.columns):
                yield cells[first], cells[second]
            elif line.strip():
                raise UserError(
                    f"{self.path}, line {number}: has {counted(len(cells), 'column')}, and column "
                    f"{max(self.columns) + 1} is needed; it is damaged"
                )


class _Zip(_Corpus):
    """Two files of a zip, one sentence a line, whose names differ in the language at their end."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except DAMAGE as error:
            raise self._damaged(error) from error
        found: dict[str, dict[str, str]] = defaultdict(dict)  # name → language → member
        for name in names:
            stem, _, ending = name.rpartition(".")
            if _is_language(ending):
                found[stem][known_as(ending)] = name
        texts = [(stem, members) for stem, members in found.items() if len(members) > 1]
        if len(texts) != 1:
            raise UserError(
                f"{path}: has not one text in two languages, such as a.en and a.de, but "
                f"{', '.join(names) or 'nothing'}; unpack it, and give two files"
            )
        ((stem, self.members),) = texts
        named = [_languages_of(Path(stem).name), self.languages]
        self.languages = next((n for n in named if set(n) == {*self.members}), [*self.members])

    def _damaged(self, error: Exception) -> UserError:
        return UserError(f"{self.path}: is damaged: {error}")

    def pairs(self, source: str, target: str) -> Iterator[Pair]:
        if not {source, target} <= set(self.members):
            return
        try:
            with ExitStack() as stack:
                archive = stack.enter_context(zipfile.ZipFile(self.path))
                names = [self.members[code] for code in (source, target)]
                files = [stack.enter_context(archive.open(name)) for name in names]
                shown = [f"{self.path}: {name}" for name in names]
                first, second = map(decoded, files, shown)
                yield from together(shown, first, second, "line")
        except DAMAGE as error:
            raise self._damaged(error) from error


class _Units(_Corpus):
    """A file of units, each with a text in two or more languages."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if not self.languages:
            self.languages = next((list(unit) for unit in self.units() if len(unit) > 1), [])

    @abstractmethod
    def units(self) -> Iterator[dict[str, str]]:
        """Yields language → text of each unit."""

    def pairs(self, source: str, target: str) -> Iterator[Pair]:
        lacking = 0
        for unit in self.units():
            self.languages += [code for code in unit if code not in self.languages]
            if source in unit and target in unit:
                yield _on_one_line(unit[source]), _on_one_line(unit[target])
            else:
                lacking += 1
        if lacking:
            self.notes.append(f"{counted(lacking, 'unit')} without {source} or {target} left out")


def _on_one_line(text: str) -> str:
    return re.sub(r"\s*[\t\n]\s*", " ", with_plain_ends(text)).strip()


class _Line(msgspec.Struct):
    translation: dict[str, str | None]


class _JsonLines(_Units):
    """An object a line, ``{"translation": {"en": "…", "fr": "…"}}``."""

    def units(self) -> Iterator[dict[str, str]]:
        for number, line in enumerate(stream_lines(self.path, fix=True), start=1):
            if not line.strip():
                continue
            try:
                texts = msgspec.json.decode(line, type=_Line).translation
            except msgspec.DecodeError as error:
                raise UserError(
                    f'{self.path}, line {number}: is not as {{"translation": {{"en": "…", "fr": '
                    f'"…"}}}}, or damaged: {error}'
                ) from error
            yield {known_as(code): text for code, text in texts.items() if text is not None}


class _Tmx(_Units):
    """Translation Memory eXchange, which is XML."""

    def units(self) -> Iterator[dict[str, str]]:
        reader = _TmxReader(self.path)
        with opened(self.path) as stream:
            is_last = False
            while not is_last:
                piece = stream.read(PIECE)
                is_last = not piece
                yield from reader.read(piece, is_last)


class _TmxReader:
    """Collects the units of TMX from its elements, as expat reads them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.units: list[dict[str, str]] = []  # that are whole
        self.unit: dict[str, str] = {}
        self.language = ""
        self.text: list[str] | None = None  # of a <seg>; None outside
        self.markup = 0  # depth of elements whose content is no text
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._add
        self.parser.SkippedEntityHandler = self._add_entity
        self.parser.EntityDeclHandler = self._refuse_entity

    def read(self, piece: bytes, is_last: bool) -> list[dict[str, str]]:
        """Returns the units that end in the next piece of the file."""
        try:
            self.parser.Parse(piece, is_last)
        except expat.ExpatError as error:
            raise UserError(f"{self.path}: is damaged or truncated XML: {error}") from error
        units, self.units = self.units, []
        return units

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self.markup or (self.text is not None and name in _MARKUP):
            self.markup += 1
        elif name == "tu":
            self.unit = {}
        elif name == "tuv":  # lang: of TMX 1.1
            self.language = known_as(attributes.get("xml:lang") or attributes.get("lang", ""))
        elif name == "seg":
            self.text = []

    def _end(self, name: str) -> None:
        if self.markup:
            self.markup -= 1
        elif name == "seg" and self.text is not None:
            self.unit.setdefault(self.language, "".join(self.text))
            self.text = None
        elif name == "tu":
            self.units.append(self.unit)

    def _add(self, text: str) -> None:
        if self.text is not None and not self.markup:
            self.text.append(text)

    def _add_entity(self, name: str, is_parameter: bool) -> None:
        """Adds the character of an entity that a DTD elsewhere declares."""
        if not is_parameter:
            self._add(html.unescape(f"&{name};"))

    def _refuse_entity(self, name: str, *_: Any) -> None:
        raise UserError(f"{self.path}: declares the entity {name!r}, which no corpus needs")
