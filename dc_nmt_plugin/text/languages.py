"""Language codes as users write them, and languages written without spaces between words."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from functools import cache
from itertools import islice

import regex

_CODE = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]+)*", re.I)
# scripts without spaces: ISO 15924 code (as in locale tables) → Unicode's name of the script
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


def language(text: str) -> str:
    """Returns the language of a code, without country or script, for tokenisers and metrics.

    Returns the code of two letters (ISO 639-1) for languages that have one.

    >>> language("zh-CN"), language("ZH"), language("en_GB"), language("fra_Latn")
    ('zh', 'zh', 'en', 'fr')

    Raises:
        ArgumentTypeError: not a language code
    """
    match = _CODE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not the code of a language, such as de")
    code = match[1].lower()
    if len(code) == 2:
        return code
    from babel.core import get_global

    short: str = get_global("language_aliases").get(code, code)
    return short.partition("_")[0]


def known_as(code: str) -> str:
    """Returns the language code for a tokeniser, which accepts any code."""
    try:
        return language(code)
    except argparse.ArgumentTypeError:
        return code


@cache
def spaceless_codes() -> frozenset[str]:
    """Returns the codes of languages that are mostly written in one of these scripts."""
    from babel.core import get_global

    codes = set()
    for code, tag in get_global("likely_subtags").items():  # th → th_Thai_TH
        scripts = [part for part in tag.split("_")[1:] if len(part) == 4]
        if "_" not in code and scripts and scripts[0] in SPACELESS:
            codes.add(code)
    return frozenset(codes)


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
    # of each line its beginning: one very long line must not decide
    letters, spaceless = count_letters("\n".join(line[:1000] for line in islice(lines, SAMPLED)))
    return 2 * spaceless > letters


def bleu_tokenizer(code: str, lines: Iterable[str] = ()) -> str:
    """Returns the name of sacreBLEU's tokeniser that suits a language; see :func:`is_spaceless`."""
    if code == "zh":
        return "zh"
    return "char" if is_spaceless(code, lines) else "13a"
