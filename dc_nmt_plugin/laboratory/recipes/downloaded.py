"""Reads a downloaded file with both sides of a corpus: TSV, TMX, JSON lines, a zip of two files.

``dc-nmt new`` writes such a file once as plain text; no other command knows these forms. A reader
yields units, and memory does not grow with the file.
"""

from __future__ import annotations

import codecs
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, iterparse

import msgspec
from tqdm import tqdm

from ...errors import UsageError, UserError, counted
from ...files import sha256, write_parallel
from ...text.languages import known_as
from ...text.lines import decoded, opened, stream_lines, with_plain_ends
from ..raw_text.checks import is_visible
from .formats import Pair, together
from .sources import DAMAGE

Unit = dict[str, str]  # language → text
# of a path, the languages of the two columns of TSV, and notes, to which it adds
Reader = Callable[[Path, Sequence[str], list[str]], Iterator[Unit]]

HEAD = 100  # rows from which columns are chosen
_CODE = r"([a-z]{2,3}(?:_[a-z]+)?)"
_CODES = re.compile(rf"(?:^|[._-]){_CODE}-{_CODE}(?=[._]|$)", re.I)  # of en-fr.tmx.gz
# a number, an identifier with digits, the name of a site or file
_NO_TEXT = re.compile(r"\s*(?:\S*\d\S*|\S+[./]\w\S*)?\s*")
_HEADER = ({"source", "src", "original"}, {"target", "trg", "tgt", "translation"})
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def write_plain(
    flag: str, path: Path, codes: Sequence[str | None], to: Path, name: str
) -> tuple[tuple[str, str], list[Path], str]:
    """Writes ``to/NAME.LANG`` for both sides of a file, without units that lack one.

    Args:
        flag: that named the file, for messages
        path: of the file
        codes: languages of source and target; None: as the file names them
        to: folder
        name: of the set

    Returns:
        the languages, the two files, and a line about the origin

    Raises:
        UserError: the file is damaged or has none of the forms, or lacks a language
    """
    read = _reader(flag, path)
    named = _languages_of(path.name)
    if None in codes and not named and read is not _read_tsv:
        named = next((list(unit) for unit in read(path, (), []) if len(unit) > 1), [])
    source, target = languages = _choose(flag, path, named, codes)
    notes = [f"{path} (SHA-256 {sha256(path)})"]
    if None in codes:
        notes.append(f"from {source} to {target}, as the file names them")
    there: list[str] = []  # languages
    lacking = 0

    def pairs() -> Iterator[Pair]:
        nonlocal lacking
        units = read(path, named or languages, notes)
        for unit in tqdm(units, path.name, unit=" pairs", disable=None):
            there.extend(code for code in unit if code not in there)
            pair = _on_one_line(unit.get(source, "")), _on_one_line(unit.get(target, ""))
            if all(map(is_visible, pair)):
                yield pair
            else:
                lacking += 1

    paths = [to / f"{name}.{code}" for code in languages]
    count = write_parallel(paths, pairs())
    if None in codes and len(there) > 2:  # some came after the first unit
        raise _ask_for_languages(flag, path, there)
    if not count:
        has = ", ".join(there) or "nothing"
        raise UserError(f"{flag}: {path} has no pair in {source} and {target}; it has {has}")
    if lacking:
        notes.append(f"{counted(lacking, 'pair')} without text in {source} or {target} left out")
    return languages, paths, "; ".join(notes)


def _reader(flag: str, path: Path) -> Reader:
    """Returns the reader of a file by its beginning."""
    with opened(path) as stream:
        head = stream.read(1 << 16)
    if head.startswith((b"PK\3\4", b"PK\5\6")):
        return _read_zip
    is_wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = head.decode("utf-16" if is_wide else "utf-8-sig", "ignore").lstrip()
    if re.match(r"<(\?xml|!DOCTYPE tmx|tmx)\b", text):
        if "<!ENTITY" in text:  # which may grow without end
            raise UserError(f"{flag}: {path} declares entities, which no corpus needs")
        return _read_tmx
    if re.match(r'\{\s*"', text):
        return _read_json_lines
    if "\t" in text:
        return _read_tsv
    raise UsageError(
        f"{flag}: {path} has no columns with a tab between them, and is no TMX, JSON lines or zip "
        "file; give two files, of source and target"
    )


def _choose(
    flag: str, path: Path, named: Sequence[str], codes: Sequence[str | None]
) -> tuple[str, str]:
    """Returns the languages of source and target, of which the file names those that are None."""
    source, target = codes
    if source and target:
        return source, target
    if len(named) != 2 or not all(map(_is_language, named)):
        raise _ask_for_languages(flag, path, named)
    first, second = named
    source = source or (second if target == first else first)
    return source, target or (second if source == first else first)


def _ask_for_languages(flag: str, path: Path, there: Sequence[str]) -> UsageError:
    remedy = "give --source-lang and --target-lang"
    if there:
        return UsageError(f"{flag}: {path} has {', '.join(there)}: {remedy}")
    return UsageError(
        f"{flag}: {path} names no languages: {remedy}, of a TSV file in the order of its columns"
    )


def _languages_of(name: str) -> list[str]:
    """Returns the languages in a name such as ``WikiMatrix.en-fr.tsv.gz``; none of another."""
    codes = _CODES.search(name)
    languages = [known_as(codes[1]), known_as(codes[2])] if codes else []
    return languages if all(map(_is_language, languages)) else []


def _is_language(code: str) -> bool:
    from babel import Locale

    return known_as(code) in Locale("en").languages


def _on_one_line(text: str) -> str:
    return re.sub(r"\s*[\t\n]\s*", " ", with_plain_ends(text)).strip()


# -- the forms ---------------------------------------------------------------------------------


def _read_tsv(path: Path, languages: Sequence[str], notes: list[str]) -> Iterator[Unit]:
    """Reads two columns; where there are more, the first two that can be text."""
    rows = [_cells(line) for line in islice(stream_lines(path, fix=True), HEAD)]
    rows = [row for row in rows if len(row) > 1]  # no blank lines, nor the half of a pair
    columns, has_header = _columns_of_text(rows)
    if len(columns) < 2:
        raise UserError(f"{path}: not two columns have text in the first {HEAD} rows")
    first, second = columns[:2]
    names = [rows[0][n].strip().lower() for n in (first, second)]
    if all(map(_is_language, names)):
        languages, has_header = list(map(known_as, names)), True
    has_header |= names[0] in _HEADER[0] and names[1] in _HEADER[1]
    # a person sees whether these are the languages of the columns
    shown = [f'{code} "{rows[-1][n]:.30}"' for code, n in zip(languages, columns, strict=False)]
    notes.append(f"columns {first + 1} and {second + 1}, {' and '.join(shown)}")
    if has_header:
        notes.append("line 1 is a header")
    lines = enumerate(stream_lines(path, fix=True), start=1)
    for number, line in islice(lines, int(has_header), None):
        cells = _cells(line)
        if len(cells) > second:
            yield dict(zip(languages, (cells[first], cells[second]), strict=True))
        elif line.strip():
            raise UserError(
                f"{path}, line {number}: has {counted(len(cells), 'column')}, and column "
                f"{second + 1} is needed; it is damaged"
            )


def _columns_of_text(rows: Sequence[Sequence[str]]) -> tuple[list[int], bool]:
    """Returns the columns that can be text, and True if the first row is the header of others."""
    columns = range(min(map(len, rows), default=0))
    if len(columns) <= 2:
        return list(columns), False
    others = [n for n in columns if not any(_can_be_text(row[n]) for row in rows[1:])]
    return [n for n in columns if n not in others], any(_can_be_text(rows[0][n]) for n in others)


def _can_be_text(cell: str) -> bool:
    """Returns whether a cell can be a sentence: no number, identifier, URL or language code."""
    is_code = cell.islower() and _is_language(cell)
    return not is_code and _NO_TEXT.fullmatch(cell) is None


def _cells(line: str) -> list[str]:
    cells = line.split("\t")
    return list(map(_without_quoting, cells)) if '""' in line else cells


def _without_quoting(cell: str) -> str:
    """Returns the text of a cell that a CSV writer has quoted because it has quotation marks."""
    inside = cell[1:-1]
    if cell == f'"{inside}"' and '""' in inside and '"' not in inside.replace('""', ""):
        return inside.replace('""', '"')
    return cell


def _read_zip(path: Path, _: Sequence[str], __: list[str]) -> Iterator[Unit]:
    """Reads two files, one sentence a line, whose names end in their languages."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
            members = [name for name in names if _is_language(name.rpartition(".")[2])]
            if len(members) != 2:
                raise UserError(
                    f"{path}: has not two files such as a.en and a.de, but "
                    f"{', '.join(names) or 'nothing'}; unpack it, and give two files"
                )
            one, other = members
            codes = [known_as(name.rpartition(".")[2]) for name in members]
            shown = [f"{path}: {name}" for name in (one, other)]
            with archive.open(one) as first, archive.open(other) as second:
                sides = decoded(first, shown[0]), decoded(second, shown[1])
                for pair in together(shown, *sides, "line"):
                    yield dict(zip(codes, pair, strict=True))
    except DAMAGE as error:
        raise UserError(f"{path}: cannot be read: {error}") from error


class _Line(msgspec.Struct):
    translation: dict[str, str | None]


def _read_json_lines(path: Path, _: Sequence[str], __: list[str]) -> Iterator[Unit]:
    """Reads an object a line, ``{"translation": {"en": "…", "fr": "…"}}``."""
    for number, line in enumerate(stream_lines(path, fix=True), start=1):
        if not line.strip():
            continue
        try:
            texts = msgspec.json.decode(line, type=_Line).translation
        except msgspec.DecodeError as error:
            raise UserError(
                f'{path}, line {number}: is not as {{"translation": {{"en": "…", "fr": "…"}}}}, or '
                f"damaged: {error}"
            ) from error
        yield {known_as(code): text or "" for code, text in texts.items()}


def _read_tmx(path: Path, _: Sequence[str], __: list[str]) -> Iterator[Unit]:
    """Reads Translation Memory eXchange, with tags in any namespace."""
    body = Element("body")
    with opened(path) as stream:
        try:
            for event, element in iterparse(stream, ("start", "end")):
                if event == "start" and element.tag.endswith("body"):
                    body = element
                elif event == "end" and element.tag.endswith("tu"):
                    yield _unit(element)
                    body.clear()  # the elements that were read
        except ParseError as error:
            raise UserError(f"{path}: is damaged or truncated XML: {error}") from error


def _unit(element: Element) -> Unit:
    unit: Unit = {}
    for variant in element.iterfind("{*}tuv"):
        code = known_as(variant.get(_LANGUAGE, variant.get("lang", "")))  # lang: of TMX 1.1
        segment = variant.find("{*}seg")
        if code and segment is not None:
            unit.setdefault(code, _text(segment))
    return unit


def _text(element: Element) -> str:
    """Returns the text of a segment; elements in it are markup, except highlighted text."""
    parts = [element.text or ""]
    for child in element:
        if child.tag.endswith("hi"):
            parts.append(_text(child))
        parts.append(child.tail or "")
    return "".join(parts)
