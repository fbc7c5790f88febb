"""Checks text for problems that make a training meaningless or a score wrong.

:data:`KINDS` is the one table of problems, for ``check-text``, ``new``, ``prepare`` and ``score``.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TextIO
from unicodedata import is_normalized, normalize

import numpy as np
import regex

from ...errors import UserError, counted
from ...files import writing
from ...text.languages import is_spaceless
from ...text.lines import character, stream_lines

RARE = 100  # a text has a problem with a threshold in more than one line in so many
HEAD = 20_000  # lines from which a text's tokenisation is decided
SYMBOLS = ("<s>", "<pad>", "</s>", "<unk>")  # in every dictionary of fairseq
NOTHING = 0  # the number of a line without visible characters
LAGS = (-1, 1, -2, 2, -3, 3)  # lines that may be missing on one side
LEAST_GAIN = 300.0  # of squared differences of lengths, where lines are shifted
LONGEST = 65_535  # characters of a line that are counted
BLOCK = 1 << 18  # lines at a time: temporary arrays of all lines would be most of the memory

_SYMBOL = re.compile(rf"(?<!\S)(?:{'|'.join(SYMBOLS)})(?!\S)")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_VISIBLE = regex.compile(r"[^\s\p{Z}\p{C}]")
# UTF-8 that was decoded as Latin-1 or Windows-1252: a lead byte, then another byte
_MISREAD = re.compile(r"[Â-ô][\x80-\xbfŒœŠšŸŽžƒˆ˜–—‘’‚“”„†‡•…‰‹›€™]|\ufffd")
_MARKUP = re.compile(  # XML and SGML, then tags of IWSLT, TMX, JSON
    r"^\s*(?:<(?:\?xml|!DOCTYPE|mteval|(?:src|ref|tst)set|doc|seg|hl"
    r"|url|keywords|speaker|talkid|reviewer|translator|title|description"
    r'|tmx|tuv?|prop)\b>?|{"[^"]{0,20}")'
)


@dataclass(frozen=True)
class Kind:
    message: str  # about one line; remedy. {} is the example, {file} the file's name
    pattern: re.Pattern[str] | None = None  # of a line with it; None: found in another way
    single: bool = True  # one line counts; otherwise more than one in a hundred


KINDS = {
    "control": Kind(
        "has {}, which some tools take for the end of a line or do not read; "
        r"perl -CSD -pe 's/(?!\n)[\p{Cc}\p{Zl}\p{Zp}\x{FEFF}]/ /g' {file} replaces such "
        "characters by spaces",
        _CONTROL,
    ),
    "blank": Kind("the line is blank; leave such pairs out"),
    "unseen": Kind("has nothing visible in it, but {}; leave such pairs out"),
    "symbol": Kind(
        "has the word {}, which is fairseq's own symbol; leave such pairs out, or write &lt; and "
        "&gt;",
        _SYMBOL,
    ),
    "pieces": Kind(
        "has '{}', the mark of BPE or sentencepiece; join the words: sed -E 's/@@( |$)//g', or "
        "fairseq-generate --remove-bpe (sentencepiece); text of the tokenizer split needs "
        "--tokenizer split",
        re.compile(r"(?<=\S)@@(?= |$)|▁"),
        single=False,
    ),
    "markup": Kind(
        "is not a plain sentence, but begins with {}; take the sentences out; a recipe reads "
        "format: iwslt-tags, iwslt-xml and sgm",
        _MARKUP,
        single=False,
    ),
    "tab": Kind(
        "has a tab, as in TSV files; take one column: cut -f1 {file} prints the first, "
        "cut -f2 {file} the second",
        re.compile("\t"),
        single=False,
    ),
    "mojibake": Kind(
        "looks like UTF-8 that was read as Latin-1 ({}); make the file again from the original",
        _MISREAD,
        single=False,
    ),
    "form": Kind(
        "has several characters for one letter ({}), where other text of the language has one; "
        "perl -CSD -MUnicode::Normalize -pe '$_=NFC($_)' {file} > NEW makes one",
        single=False,
    ),
    "entities": Kind(
        "has the HTML entity {}; make characters of entities: python3 -c 'import html, sys; "
        "sys.stdout.writelines(map(html.unescape, sys.stdin))' < {file} > NEW",
        re.compile(r"&(?:[A-Za-z]{2,6}|#\d{2,5}|#x[0-9A-Fa-f]{2,5});"),
        single=False,
    ),
    "shifted": Kind(
        "by the lengths, this line and the next ones translate other lines of {}; a line is "
        "missing or added about here: compare the files"
    ),
    "tokenized": Kind("the text looks tokenised ({}); give --tokenized, or the raw text"),
}
# kinds for which text is refused for every purpose
SPOILT = ("pieces", "markup", "tab", "mojibake")
# further kinds, for files that fairseq reads directly
UNUSABLE = ("control", "blank", "unseen", "symbol", "form", "shifted")


@dataclass(frozen=True)
class Finding:
    """Holds one kind of problem in one file; printed, it is a line with the remedy."""

    kind: str  # of KINDS
    file: str
    lines: int  # with the problem
    first: int  # line with it, from 1
    example: str
    total: int  # lines of the file

    @property
    def counts(self) -> bool:
        """Returns whether the problem is frequent enough to be one of the text as a whole."""
        return KINDS[self.kind].single or self.lines * RARE > self.total

    def __str__(self) -> str:
        message = KINDS[self.kind].message.replace("{}", self.example)
        about, _, remedy = message.replace("{file}", self.file).partition("; ")
        many = f" ({self.lines:,} of {self.total:,} lines)" if self.lines > 1 else ""
        return f"{self.file}, line {self.first}: {about}{many}; {remedy}"


@dataclass
class Scan:
    name: str
    lines: int
    texts: Any  # (lines) a number each, equal for lines that differ only in spaces and case
    lengths: Any  # (lines) in characters, at most LONGEST
    characters: set[str]
    findings: list[Finding]  # in the order of KINDS
    composed: int  # lines with letters in Unicode's form NFC


def scan_lines(name: object, lines: Iterable[str], report: TextIO | None = None) -> Scan:
    """Scans the lines of a text, without their ends; writes each problem into the report."""
    head: list[str] = []
    texts, lengths, characters = array("q"), array("H"), set[str]()
    counts: dict[str, tuple[int, int, str]] = {}  # kind → lines, first line, example
    composed = 0
    for number, line in enumerate(lines, start=1):
        if number <= HEAD:
            head.append(line)
        texts.append(hash(bare(line)) if is_visible(line) else NOTHING)
        lengths.append(min(len(line), LONGEST))
        characters.update(line)
        composed += is_composed(line)
        for kind, example in _problems(line):
            before, first, first_example = counts.get(kind, (0, number, example))
            counts[kind] = (before + 1, first, first_example)
            if report:
                print(name, number, kind, example.strip(), sep="\t", file=report)
    sign = None if is_spaceless(None, head) else tokenized_sign(head)
    if sign:
        counts["tokenized"] = sign
        counts.pop("entities", None)  # which Moses' tokeniser writes
    findings = [Finding(k, str(name), *counts[k], len(texts)) for k in KINDS if k in counts]
    numbers = np.frombuffer(texts, np.int64), np.frombuffer(lengths, np.uint16)
    return Scan(str(name), len(texts), *numbers, characters, findings, composed)


def _problems(line: str) -> Iterator[tuple[str, str]]:
    """Yields the kind and an example of each problem of a line."""
    if not line.strip():
        yield "blank", ""
        return
    if not is_visible(line):
        yield "unseen", character(line.strip()[0])
        return
    if is_decomposed(line):
        yield "form", next(filter(is_decomposed, regex.findall(r"\X", line)), "")
    for name, kind in KINDS.items():
        match = kind.pattern.search(line) if kind.pattern else None
        if match and (name != "mojibake" or _is_misread(line, match[0])):
            yield name, _example(name, line, match[0])


def _is_misread(line: str, match: str) -> bool:
    """Returns whether UTF-8 was misread, and not a capital before a quotation mark in French."""
    from ftfy.badness import is_bad

    return match == "\ufffd" or bool(is_bad(line))


def _example(kind: str, line: str, match: str) -> str:
    if kind == "control":
        return character(match)
    if kind == "mojibake":
        return next(word for word in line.split(" ") if match in word)[:20]
    return match.strip()


def scan_groups(
    groups: Sequence[Sequence[Path]], report: Path | None = None
) -> tuple[list[list[Scan]], list[Finding]]:
    """Returns the scans of each group's files, one file or a pair, and all findings.

    Args:
        groups: files
        report: file to write: file, line, kind of :data:`KINDS` and example of each problem

    Raises:
        UserError: a file cannot be read, or the files of a pair have different numbers of lines
    """
    with writing(report) if report else nullcontext() as out:
        scans = [[scan_lines(path, stream_lines(path), out) for path in group] for group in groups]
    for group in scans:
        _check_parallel(group)
    return scans, list(dict.fromkeys(_findings(scans)))  # of a file that is given twice once


def _findings(groups: Sequence[Sequence[Scan]]) -> Iterator[Finding]:
    """Yields the problems of each side, then where the sides of a pair are shifted."""
    # text in Unicode's form NFD is a problem only where its language has text in NFC too
    mixed = [any(s.composed * RARE > s.lines for s in side) for side in zip(*groups, strict=True)]
    for group in groups:
        for scan, is_mixed in zip(group, mixed, strict=True):
            yield from (f for f in scan.findings if is_mixed or f.kind != "form")
        yield from filter(None, (_shifted(group[0], other) for other in group[1:]))


def _check_parallel(group: Sequence[Scan]) -> None:
    first, *others = group
    for other in others:
        if first.lines != other.lines:
            raise UserError(
                f"{first.name} has {counted(first.lines, 'line')} but {other.name} has "
                f"{other.lines:,}: line n of one must translate line n of the other"
            )


def blocks(values: Any) -> Iterator[Any]:
    """Yields an array in pieces of at most BLOCK lines."""
    for start in range(0, len(values), BLOCK):
        yield values[start : start + BLOCK]


def contained(texts: Any, others: Any) -> Any:
    """Returns for each text whether `others` have it, as :func:`numpy.isin` in little memory."""
    found = np.zeros(len(texts), bool)
    for mask, part in zip(blocks(found), blocks(texts), strict=True):
        for other in blocks(others):
            mask |= np.isin(part, other)
    return found


def _shifted(source: Scan, target: Scan) -> Finding | None:
    """Returns where lines of two sides begin to translate their neighbours, by their lengths."""
    one, two = _standard_scores(source.lengths), _standard_scores(target.lengths)
    if one is None or two is None:
        return None
    most, found = 0.0, None
    for lag in LAGS:
        # line n beside line n of the other side, and beside its neighbour
        first = max(0, -lag)
        last = source.lines - max(0, lag)
        lengths = source.lengths[first:last]
        here, neighbour = target.lengths[first:last], target.lengths[first + lag : last + lag]
        sides = zip(blocks(lengths), blocks(here), blocks(neighbour), strict=True)
        gain, start, end = _greatest_sum(
            (one[a] - two[b]) ** 2 - (one[a] - two[c]) ** 2 for a, b, c in sides
        )
        # means are 2 without correlation; 300 and 0.6 are far above what chance makes of any text
        if gain <= max(most, LEAST_GAIN, 0.6 * (end - start)):
            continue
        if ((one[lengths[start:end]] - two[neighbour[start:end]]) ** 2).mean() < 1.4:
            most = gain
            where = end - start, start + 1, source.name, target.lines
            found = Finding("shifted", target.name, *where)
    return found


def _standard_scores(lengths: Any) -> Any:
    """Returns (LONGEST + 1) the standard score of each length's logarithm; None for one length."""
    counts = sum(np.bincount(block, minlength=LONGEST + 1) for block in blocks(lengths))
    logs = np.log1p(np.arange(LONGEST + 1), dtype=np.float32)
    logs -= np.average(logs, weights=counts)
    deviation = np.sqrt(np.average(logs**2, weights=counts))
    return logs / deviation if deviation else None


def _greatest_sum(values: Iterable[Any]) -> tuple[float, int, int]:
    """Returns the greatest sum of neighbouring values, their first place and that behind them.

    Args:
        values: in blocks
    """
    most, start, end = 0.0, 0, 0
    before, lowest, lowest_at, place = 0.0, 0.0, 0, 0  # sums of all values up to a place
    for block in values:
        sums = np.concatenate([[lowest], before + np.cumsum(block, dtype=np.float64)])
        gains = sums - np.minimum.accumulate(sums)
        last = int(gains.argmax())
        low = int(sums[: last + 1].argmin())
        if gains[last] > most:
            most, start, end = float(gains[last]), place + low if low else lowest_at, place + last
        low = int(sums.argmin())
        if low:
            lowest, lowest_at = float(sums[low]), place + low
        before, place = float(sums[-1]), place + len(block)
    return most, start, end


def are_swapped(train: Sequence[Path], other: Sequence[Path]) -> bool:
    """Returns whether each side of a set is, by its letters, in the language of train's other side.

    Over Multi30k, Europarl and Tatoeba, sides in order are 1.67 times as like as swapped ones.
    """
    (one, two), (three, four) = (map(_trigrams, pair) for pair in (train, other))
    in_order = _likeness(one, three) + _likeness(two, four)
    return _likeness(one, four) + _likeness(two, three) > 1.25 * in_order


def _trigrams(path: Path) -> Counter[str]:
    counts = Counter[str]()
    for line in islice(stream_lines(path), 1000):
        counts.update(line[place : place + 3].lower() for place in range(len(line) - 2))
    return counts


def _likeness(one: Counter[str], two: Counter[str]) -> float:
    """Returns the share, between 0 and 1, that two distributions have in common."""
    totals = max(1, one.total()), max(1, two.total())
    return sum(min(one[key] / totals[0], two[key] / totals[1]) for key in one.keys() & two.keys())


def unseen_characters(train: Scan, other: Scan) -> list[str]:
    """Returns a sentence about characters that the training text lacks, if they are frequent."""
    unseen = {char for char in other.characters - train.characters if is_visible(char)}
    lines = [unseen.intersection(line) for line in stream_lines(other.name)] if unseen else []
    counts = Counter(char for chars in lines for char in chars)
    count = sum(map(bool, lines))
    if count * RARE <= other.lines:
        return []
    frequent = " ".join(sorted(counts, key=lambda char: (-counts[char], char))[:10])
    return [
        f"{other.name}: {count:,} of {other.lines:,} lines have characters that {train.name} never "
        f"has, which no model of it knows: {frequent}"
    ]


def shared_lines(sets: Sequence[Sequence[Scan]]) -> list[str]:
    """Returns a sentence for each two sets that share more than one line in a hundred, by side."""
    sentences = []
    for number, first in enumerate(sets):
        for other in sets[number + 1 :]:
            for one, two in zip(first, other, strict=True):
                places = np.flatnonzero(contained(two.texts, one.texts) & (two.texts != NOTHING))
                if len(places) * RARE > two.lines:
                    sentences.append(
                        f"{two.name}: {len(places):,} of {two.lines:,} lines are also in "
                        f"{one.name}, the first is line {places[0] + 1:,}; scores would be too good"
                    )
    return sentences


def refuse(
    findings: Sequence[Finding], kinds: Collection[str] = (), allowed: Collection[str] = ()
) -> None:
    """Refuses the problems of SPOILT and `kinds` that are not `allowed`.

    Raises:
        UserError: the message has the first refused finding, and the number of others
    """
    wrong = {*SPOILT, *kinds} - set(allowed)
    refused = [f for f in findings if f.kind in wrong and f.counts]
    if refused:
        others = f" ({len(refused) - 1} more problems like this)" if len(refused) > 1 else ""
        raise UserError(f"{refused[0]}{others}")


# -- tokenised text --------------------------------------------------------------------------

_MOSES_MARK = re.compile(r"(?:^| )@-@(?: |$)|&(?:apos|quot|amp|lt|gt|#9[13]|#124);")
_FREE_STOP = re.compile(r"(?:^| )[.,](?: |$)")  # not ? ! : ; which French sets apart in raw text
_STOP = re.compile(r"[.,](?: |$)")


def tokenized_sign(lines: Sequence[str]) -> tuple[int, int, str] | None:
    """Returns the evidence that lines are tokenised: their number, the first one, and its words.

    None for raw text. The evidence is that commas and full stops are separate in at least half of
    the lines with any; in text without them, Moses' marks (`` @-@ ``, ``&apos;``) in more than one
    line in a hundred.
    """
    free = [number for number, line in enumerate(lines, start=1) if _FREE_STOP.search(line)]
    stops = _with_stop(lines)
    if 2 * len(free) < stops:  # also of HTML's entities, which Moses' marks are too
        return None
    marked = [n for n, line in enumerate(lines, start=1) if _MOSES_MARK.search(line)]
    if len(marked) * RARE > len(lines):
        mark = _MOSES_MARK.findall(lines[marked[0] - 1])[0].strip()
        return len(marked), marked[0], f"{mark!r} in line {marked[0]}"
    if free:
        text = f"{len(free)} of {stops} lines with free-standing punctuation, as line {free[0]}"
        return len(free), free[0], text
    return None


def looks_raw(lines: Sequence[str]) -> bool:
    """Returns True if most commas and full stops, in at least ten lines, touch a word."""
    return _with_stop(lines) >= 10 and tokenized_sign(lines) is None


def _with_stop(lines: Sequence[str]) -> int:
    return sum(1 for line in lines if _STOP.search(line))


# -- single lines ----------------------------------------------------------------------------


def bare(line: str) -> str:
    """Returns a sentence without spaces and capitals, to compare sentences."""
    return "".join(line.lower().split())


def is_visible(line: str) -> bool:
    """Returns whether a line has more than spaces, control and invisible characters."""
    return _VISIBLE.search(line) is not None


def escape_symbols(line: str) -> str:
    """Writes fairseq's symbols as Moses writes angle brackets, so that they are words again.

    >>> escape_symbols("x <pad> y <b>")
    'x &lt;pad&gt; y <b>'
    """
    return _SYMBOL.sub(lambda m: m[0].replace("<", "&lt;").replace(">", "&gt;"), line)


# -- Unicode's forms -------------------------------------------------------------------------
# A letter with a mark is one character (NFC), or several (NFD). Both look alike, and are different
# words for a model and a score.

UnicodeForm = Literal["NFC", "NFD"]


def is_decomposed(line: str) -> bool:
    """Returns whether a line has several characters for a letter that also is one character."""
    # NFC also replaces a few characters by several, which makes a line no shorter
    return len(normalize("NFC", line)) < len(line)


def is_composed(line: str) -> bool:
    """Returns whether a line has one character for a letter with a mark, or a Korean syllable."""
    return not is_normalized("NFD", line)


def unicode_form(texts: Iterable[str]) -> UnicodeForm | None:
    """Returns the only form of texts, ``NFC`` or ``NFD``; None if both look alike or are mixed."""
    texts = list(texts)
    composed = sum(map(is_composed, texts)) * RARE > len(texts)
    decomposed = sum(map(is_decomposed, texts)) * RARE > len(texts)
    if composed == decomposed:
        return None
    return "NFC" if composed else "NFD"


def in_form(line: str, form: UnicodeForm | None) -> str:
    """Returns a line in a form; a line that has it already stays as it is."""
    if (form == "NFC" and is_decomposed(line)) or (form == "NFD" and is_composed(line)):
        return normalize(form, line)
    return line
