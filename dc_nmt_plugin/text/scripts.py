"""Finds scripts without spaces between words in Unicode's tables."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import islice

import regex

# ISO 15924 code (as in locale tables) → Unicode's name of the script
SPACELESS = {
    "Hani": "Han", "Hans": "Han", "Hant": "Han", "Hanb": "Han", "Jpan": "Han", "Hira": "Hiragana",
    "Kana": "Katakana", "Bopo": "Bopomofo", "Yiii": "Yi", "Tang": "Tangut", "Nshu": "Nushu",
    "Thai": "Thai", "Laoo": "Lao", "Khmr": "Khmer", "Mymr": "Myanmar", "Tibt": "Tibetan",
    "Tale": "Tai_Le", "Talu": "New_Tai_Lue", "Lana": "Tai_Tham", "Tavt": "Tai_Viet",
    "Java": "Javanese", "Bali": "Balinese", "Phag": "Phags_Pa",
}  # fmt: skip
_LETTER = regex.compile(r"[\p{L}\p{M}]")
_SPACELESS = regex.compile("[" + "".join(rf"\p{{{s}}}" for s in set(SPACELESS.values())) + "]")
SAMPLED = 1000  # lines that decide the script of a text


@cache
def spaceless_codes() -> frozenset[str]:
    """Returns the codes of languages that are mostly written in one of these scripts."""
    from babel.core import get_global

    tags = get_global("likely_subtags").items()  # th → th_Thai_TH
    return frozenset(code for code, tag in tags if "_" not in code and _script(tag) in SPACELESS)


def _script(tag: str) -> str:
    return next((part for part in tag.split("_")[1:] if len(part) == 4), "")


def count_letters(text: str) -> tuple[int, int]:
    """Counts letters and vowel signs of a text, and those of a script without spaces."""
    letters = len(_LETTER.findall(text))
    return letters, 0 if text.isascii() else len(_SPACELESS.findall(text))


def is_spaceless(code: str | None, lines: Iterable[str] = ()) -> bool:
    """Returns whether words are written without spaces between them.

    Args:
        code: of the language; an unknown code decides nothing
        lines: of text in the language; the first thousand are checked
    """
    if code in spaceless_codes():
        return True
    letters, spaceless = count_letters("\n".join(islice(lines, SAMPLED)))
    return 2 * spaceless > letters
