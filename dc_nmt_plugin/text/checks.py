"""Checks text for problems that make a training meaningless or a score wrong.

One table, :data:`KINDS`, for all commands: ``check-text``, ``new``, ``prepare``, ``score``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import regex

from ..errors import UserError
from ..table import format_table
from .languages import SAMPLED, is_spaceless
from .lines import character, stream_lines

RARE = 100  # a kind with a threshold counts in more than one line in so many
HEAD = 20_000  # lines from which a text's tokenisation is decided
LONG_WORDS = 250
LONG_CHARACTERS = {True: 500, False: 5000}  # in scripts without spaces, and in others
SYMBOLS = ("<s>", "<pad>", "</s>", "<unk>")  # in every dictionary of fairseq
NOTHING = 0  # the number of a line without visible characters

_SYMBOL = re.compile(rf"(?<!\S)(?:{'|'.join(SYMBOLS)})(?!\S)")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_VISIBLE = regex.compile(r"[^\s\p{Z}\p{C}]")
# UTF-8 that was decoded as Latin-1 or Windows-1252: a lead byte, then another byte
_MISREAD = re.compile(r"[Â-ô][\x80-\xbfŒœŠšŸŽžƒˆ˜–—‘’‚“”„†‡•…‰‹›€™]|\ufffd")
_MARKUP = (  # XML and SGML, IWSLT's tags, TMX, JSON
    r"\?xml|!DOCTYPE|mteval|(?:src|ref|tst)set|doc|seg|hl",
    "url|keywords|speaker|talkid|reviewer|translator|title|description",
    "tmx|tuv?|prop",
)


@dataclass(frozen=True)
class Kind:
    """Describes one kind of problem.

    Attributes:
        name: in the table
        about: description of one line, for the message; {} is the example
        remedy: for the message; {file} is the file's name
        pattern: of a line with the problem; None: found in another way
        single: a single line counts; otherwise more than one line in a hundred
    """

    name: str
    about: str
    remedy: str
    pattern: re.Pattern[str] | None = None
    single: bool = True


KINDS = {
    "control": Kind(
        "control characters",
        "has {}, which some tools take for the end of a line or do not read",
        r"perl -CSD -pe 's/(?!\n)[\p{Cc}\p{Zl}\p{Zp}\x{FEFF}]/ /g' {file} replaces such "
        "characters by spaces",
        _CONTROL,
    ),
    "blank": Kind("blank", "the line is blank", "leave such pairs out"),
    "unseen": Kind("nothing visible", "has nothing visible in it, but {}", "leave such pairs out"),
    "symbol": Kind(
        "fairseq's symbols",
        "has the word {}, which is fairseq's own symbol",
        "leave such pairs out, or write &lt; and &gt;",
        _SYMBOL,
    ),
    "pieces": Kind(
        "pieces",
        "has {!r}, the mark of BPE or sentencepiece",
        "join the words: sed 's/@@ //g', or fairseq-generate --remove-bpe (sentencepiece); text "
        "split by this plugin needs --tokenizer split",
        re.compile(r"(?<=\S)@@(?= |$)|▁"),
        single=False,
    ),
    "markup": Kind(
        "markup",
        "is not a plain sentence, but begins with {}",
        "take the sentences out; a recipe reads format: iwslt-tags, iwslt-xml, sgm and tmx",
        re.compile(rf'^\s*(?:<(?:{"|".join(_MARKUP)})\b>?|{{"[^"]{{0,20}}")'),
        single=False,
    ),
    "tab": Kind(
        "tabs",
        "has a tab, as in TSV files",
        "take one column: cut -f1 {file} prints the first, cut -f2 {file} the second",
        re.compile("\t"),
        single=False,
    ),
    "mojibake": Kind(
        "wrong encoding",
        "looks like UTF-8 that was read as Latin-1 ({})",
        "make the file again from the original",
        _MISREAD,
        single=False,
    ),
    "tokenized": Kind(
        "tokenised", "the text looks tokenised ({})", "give --tokenized, or the raw text"
    ),
    "long": Kind("long lines", "has {}", "split the sentence, or leave the pair out"),
}
# most lines have none of these, and need no further look
_SUSPECT = re.compile(rf'{_CONTROL.pattern}|[\t<▁]|@@|{{"|{_MISREAD.pattern}')

# kinds for which text is refused for every purpose
SPOILT = ("pieces", "markup", "tab", "mojibake")
# further kinds, for files that fairseq reads directly
UNUSABLE = ("control", "blank", "unseen", "symbol")


@dataclass(frozen=True)
class Finding:
    """Holds one kind of problem in one file.

    Attributes:
        kind: a key of KINDS
        file: its name
        lines: number of lines with the problem
        first: number of the first such line
        example: from that line
        total: lines of the file
    """

    kind: str
    file: str
    lines: int
    first: int
    example: str
    total: int

    @property
    def counts(self) -> bool:
        """Returns whether the problem is frequent enough to be one of the text as a whole."""
        return KINDS[self.kind].single or self.lines * RARE > self.total

    def __str__(self) -> str:
        kind = KINDS[self.kind]
        many = f" ({self.lines:,} of {self.total:,} lines)" if self.lines > 1 else ""
        about = kind.about.replace("{!r}", repr(self.example)).replace("{}", self.example)
        remedy = kind.remedy.replace("{file}", self.file)
        return f"{self.file}, line {self.first}: {about}{many}; {remedy}"


@dataclass
class Scan:
    """Holds the scan of a text file.

    Attributes:
        name: of the file
        lines: their number
        blank: number of lines without visible characters
        texts: (lines) a number for each line, equal for lines that differ only in spaces and case
        findings: in the order of KINDS
    """

    name: str
    lines: int
    blank: int
    texts: Any
    findings: list[Finding]


class Sign(NamedTuple):
    """Holds the evidence that a text is tokenised: lines with it, the first one, a description."""

    lines: int
    first: int
    text: str


def scan(path: Path | str) -> Scan:
    """Scans a file, plain or gzipped.

    Raises:
        UserError: the file cannot be read, is empty or not UTF-8, or has lines that end in CR alone
    """
    return scan_lines(path, stream_lines(path))


def scan_lines(name: object, lines: Iterable[str]) -> Scan:
    """Scans the lines of a text, without their ends; see :func:`scan`."""
    rest = iter(lines)
    head = list(islice(rest, HEAD))
    spaceless = is_spaceless(None, head[:SAMPLED])
    texts: list[int] = []
    found: dict[str, tuple[int, int, str]] = {}  # kind → lines, first line, example
    returns = 0
    for number, line in enumerate(chain(head, rest), start=1):
        bare_line = bare(line)
        if not bare_line:
            _add(found, "blank", number, "")
        elif not is_visible(line):
            _add(found, "unseen", number, character(line.strip()[0]))
            bare_line = ""
        texts.append(hash(bare_line) if bare_line else NOTHING)
        if bare_line and _SUSPECT.search(line):
            returns += line.count("\r")
            for kind, example in _problems(line):
                _add(found, kind, number, example)
        if len(line) > LONG_WORDS:
            words = len(line.split())
            if words > LONG_WORDS:
                _add(found, "long", number, f"{words:,} words")
            elif len(line) > LONG_CHARACTERS[spaceless]:
                _add(found, "long", number, f"{len(line):,} characters")
    if returns > len(texts):
        raise UserError(
            f"{name}: its lines end in {returns:,} carriage returns without line feeds; "
            rf"tr '\r' '\n' < {name} > NEW makes line feeds of them"
        )
    sign = None if spaceless else tokenized_sign(head)
    if sign:
        found["tokenized"] = sign
    findings = [Finding(k, str(name), *found[k], len(texts)) for k in KINDS if k in found]
    blank = sum(finding.lines for finding in findings if finding.kind in ("blank", "unseen"))
    return Scan(str(name), len(texts), blank, np.array(texts, np.int64), findings)


def _add(found: dict[str, tuple[int, int, str]], kind: str, number: int, example: str) -> None:
    lines, first, first_example = found.get(kind, (0, number, example))
    found[kind] = (lines + 1, first, first_example)


def _problems(line: str) -> Iterable[tuple[str, str]]:
    """Yields the kind and an example of each problem that a pattern finds."""
    for name, kind in KINDS.items():
        match = kind.pattern.search(line) if kind.pattern else None
        if match is None:
            continue
        if name == "control":
            yield name, character(match[0])
        elif name == "tab":
            yield name, ""
        elif name == "mojibake":
            from ftfy.badness import is_bad

            # capitals before quotation marks, as in French, are no such text
            if match[0] == "\ufffd" or is_bad(line):
                yield name, next(word for word in line.split(" ") if match[0] in word)[:20]
        else:
            yield name, match[0].strip()


def scan_groups(
    groups: Sequence[Sequence[Path]],
) -> tuple[list[list[Scan]], list[Finding]]:
    """Scans files of one text each, or pairs of them.

    Returns:
        the scans of each group's files, and all findings

    Raises:
        UserError: see :func:`scan`
    """
    scans = [[scan(path) for path in group] for group in groups]
    return scans, [finding for group in scans for side in group for finding in side.findings]


def check_lines(group: Sequence[Scan]) -> None:
    """
    Raises:
        UserError: the files have different numbers of lines
    """
    first = group[0]
    for other in group[1:]:
        if first.lines != other.lines:
            raise UserError(
                f"{first.name} has {first.lines} lines but {other.name} has {other.lines}: "
                "line n of one must translate line n of the other"
            )


def as_table(findings: Sequence[Finding]) -> str:
    """Returns a row for each file and kind of problem."""
    rows = [
        (f.file, KINDS[f.kind].name, f"{f.lines:,}", str(f.first), f.example)
        for f in dict.fromkeys(findings)
    ]
    return format_table(("file", "problem", "lines", "first", "example"), rows)


def refused(
    findings: Sequence[Finding], kinds: Collection[str] = (), allowed: Collection[str] = ()
) -> list[Finding]:
    """Returns the findings for which a text is refused.

    Args:
        findings: of all files
        kinds: refused in addition to SPOILT
        allowed: not refused
    """
    wrong = {*SPOILT, *kinds} - set(allowed)
    return [f for f in dict.fromkeys(findings) if f.kind in wrong and f.counts]


def refuse(
    findings: Sequence[Finding], kinds: Collection[str] = (), allowed: Collection[str] = ()
) -> None:
    """
    Raises:
        UserError: the message has the first refused finding, and the number of others
    """
    found = refused(findings, kinds, allowed)
    if found:
        more = len(found) - 1
        others = f" ({more} more problem{'s' * (more > 1)} like this)" if more else ""
        raise UserError(f"{found[0]}{others}")


# -- tokenised text --------------------------------------------------------------------------

_MOSES_MARK = re.compile(r"(?:^| )@-@(?: |$)|&(?:apos|quot|amp|lt|gt|#9[13]|#124);")
_FREE_STOP = re.compile(r"(?:^| )[.,](?: |$)")  # not ? ! : ; which French sets apart in raw text
_STOP = re.compile(r"[.,](?: |$)")


def tokenized_sign(lines: Sequence[str]) -> Sign | None:
    """Returns the evidence that lines are tokenised; None if they look like raw text.

    The evidence is Moses' marks (`` @-@ ``, ``&apos;``) in more than one line in a hundred, or
    separate commas and full stops in at least half of the lines with any.
    """
    marked = [n for n, line in enumerate(lines, start=1) if _MOSES_MARK.search(line)]
    if len(marked) * RARE > len(lines):
        mark = _MOSES_MARK.findall(lines[marked[0] - 1])[0].strip()
        return Sign(len(marked), marked[0], f"{mark!r} in line {marked[0]}")
    free = [n for n, line in enumerate(lines, start=1) if _FREE_STOP.search(line)]
    stops = sum(1 for line in lines if _STOP.search(line))
    if free and 2 * len(free) >= stops:
        text = f"{len(free)} of {stops} lines with free-standing punctuation, as line {free[0]}"
        return Sign(len(free), free[0], text)
    return None


def untokenized_sign(lines: Sequence[str]) -> str | None:
    """Returns the evidence that lines are raw: most commas and full stops touch a word."""
    stops = sum(1 for line in lines if _STOP.search(line))
    attached = stops - sum(1 for line in lines if _FREE_STOP.search(line))
    if stops >= 10 and 2 * attached > stops:
        return f"{attached} of {stops} lines with punctuation attached to words"
    return None


# -- lines -----------------------------------------------------------------------------------


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
    if "<" not in line:
        return line
    return _SYMBOL.sub(lambda m: m[0].replace("<", "&lt;").replace(">", "&gt;"), line)
