"""Lists the kinds of problems that a text file can have, and their patterns."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .lines import STRAY

FIX = "dc-nmt check-text --fix FOLDER"
RARE = 100  # a kind with a threshold counts in more than one line in so many
LONG = 250  # words, or pairs of characters in scripts without spaces


@dataclass(frozen=True)
class Kind:
    """Describes one kind of problem.

    Attributes:
        name: in the table
        about: description of one line, for the message; {} is the example
        remedy: for the message; {file} is the file's name
        patterns: in UTF-8, each with a literal beginning, which regular expressions find fast
        before: text before the pattern: "start" (only spaces), "space", "word", or anything
        any: a single line counts; otherwise more than one line in a hundred
    """

    name: str
    about: str
    remedy: str
    patterns: tuple[bytes, ...] = ()
    before: str = ""
    any: bool = True


def _characters(text: str) -> bytes:
    """Returns one pattern of characters below U+0080."""
    return b"[" + b"".join(re.escape(c.encode()) for c in text if c.isascii()) + b"]"


ENDS = "".join(c for c in STRAY if c.isascii() and c != "\r")
CONTROLS = "".join(map(chr, (*range(9), *range(0x0E, 0x1C), 0x1F, 0x7F)))
MARKUP = "dc-nmt check-text --fix FOLDER SOURCE TARGET takes the sentences out"
# UTF-8 that was decoded as Latin-1 or Windows-1252: a lead byte, then another byte
_TRAIL = (
    rb"(?:\xc2[\x80-\xbf]|\xe2(?:\x80[\x93-\xba]|\x82\xac|\x84\xa2)"
    rb"|\xc5[\x92\x93\xa0\xa1\xb8\xbd\xbe]|\xc6\x92|\xcb[\x86\x9c])"
)

KINDS = {
    "utf-8": Kind("not UTF-8", "{} is not valid UTF-8", "convert the file, such as with iconv"),
    "line-end": Kind(
        "line ends", "has {}, which ends a line for some tools and not for others",
        f"{FIX} replaces such characters by spaces",
        (rb"\r", _characters(ENDS), rb"\xc2\x85", rb"\xe2\x80[\xa8\xa9]"),
    ),
    "blank": Kind("blank", "the line is blank", f"{FIX} leaves such pairs out"),
    "unseen": Kind(
        "nothing visible", "has nothing visible in it, but {}", f"{FIX} leaves such pairs out"
    ),
    "control": Kind(
        "control characters", "has the control character {}", f"{FIX} removes such characters",
        (_characters(CONTROLS), rb"\xc2[\x80-\x84\x86-\x9f]"),
    ),
    "invisible": Kind(
        "invisible characters", "has the invisible character {}", f"{FIX} removes such characters",
        (rb"\xc2\xad", rb"\xe2\x80[\x8b\x8e\x8f\xaa-\xae]", rb"\xe2\x81[\xa0-\xaf]",
         rb"\xef\xbb\xbf"),
    ),
    "symbol": Kind(
        "fairseq's symbols", "has the word {}, which is fairseq's own symbol",
        f"{FIX} leaves such pairs out", (rb"<(?:s|pad|/s|unk)>(?=[ \n])",), "space",
    ),
    "bpe": Kind(
        "BPE", "has the mark of BPE, '@@ '",
        "join the words, with sed 's/@@ //g' or fairseq-generate --remove-bpe",
        (rb"@@(?=[ \n])",), "word", False,
    ),
    "piece": Kind(
        "pieces", "has '▁', the mark of pieces, of sentencepiece or of dc-nmt split-text "
        "(--tokenizer split)", "join the words, with fairseq-generate --remove-bpe sentencepiece",
        (rb"\xe2\x96\x81",), any=False,
    ),
    "xml": Kind(
        "XML or SGM", "has the tag {}", MARKUP,
        (rb"<(?:\?xml|!DOCTYPE|mteval|(?:src|ref|tst)set|doc|seg|hl)\b",), "start", False,
    ),
    "iwslt": Kind(
        "IWSLT tags", "has IWSLT's tag {}", MARKUP,
        (rb"<(?:url|keywords|speaker|talkid|reviewer|translator|title|description)\b>?",),
        "start", False,
    ),
    "tmx": Kind(
        "TMX", "has the tag {}",
        "take the sentences of both languages out; a recipe reads TMX with format: tmx",
        (rb"<(?:tmx|tuv?|prop)\b",), "start", False,
    ),
    "json": Kind(
        "JSON", "is JSON, {} …", "write the sentences as plain text, for instance with jq",
        (rb'\{"[^"\n]{0,20}"',), "start", False,
    ),
    "tab": Kind(
        "tabs", "has a tab, as in TSV files", "take one column: cut -f1 {file} "
        "prints the first, cut -f2 {file} the second", (rb"\t",), any=False,
    ),
    "mojibake": Kind(
        "wrong encoding", "looks like UTF-8 that was read as Latin-1 ({})",
        f"{FIX} repairs it, or make the file again from the original",
        (rb"\xc3[\x82-\xb4]" + _TRAIL, rb"\xef\xbf\xbd"), any=False,
    ),
    "tokenized": Kind(
        "tokenised", "the text looks tokenised ({})", "give --tokenized, or the raw text"
    ),
    "entity": Kind(
        "entities", "has the entity {}", f"{FIX} replaces entities by characters",
        (rb"&(?:amp|lt|gt|quot|apos|nbsp|#\d+);",),
    ),
    "long": Kind("long lines", "has {}", "split the sentence, or leave the pair out"),
    "url": Kind(
        "URLs", "has a URL, which tokenisers split", "leave it, or replace URLs by a word",
        (rb"https?://", rb"www\."),
    ),
    "copy": Kind("copies", "is the same in both files", "leave such pairs out"),
    "ratio": Kind("ratio of lengths", "has {}", "leave such pairs out"),
    "repeated": Kind("repeated pairs", "the pair was there before", "leave repeated pairs out"),
    "shared": Kind("also in another set", "is also in {}", "leave such pairs out of training"),
}  # fmt: skip
