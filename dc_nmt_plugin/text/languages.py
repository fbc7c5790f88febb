"""Language codes as users write them, and languages written without spaces between words."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from itertools import islice

import regex

_CODE = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]+)*", re.I)
_LETTER = regex.compile(r"[\p{L}\p{M}]")
# of the scripts without spaces between words, and the languages that mostly use them
_SPACELESS = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Yi}\p{Tangut}\p{Nushu}\p{Thai}\p{Lao}"
    r"\p{Khmer}\p{Myanmar}\p{Tibetan}\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}"
    r"\p{Javanese}\p{Balinese}\p{Phags_Pa}]"
)
SPACELESS = {
    "zh", "yue", "wuu", "nan", "hak", "gan", "hsn", "cdo", "cjy", "lzh", "ja", "ii", "th", "lo",
    "km", "my", "mnw", "shn", "ksw", "bo", "dz", "nod", "khb", "tdd",
}  # fmt: skip


def language(text: str) -> str:
    """Returns the language of a code without country or script, of two letters if there is one.

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

    return str(get_global("language_aliases").get(code, code)).partition("_")[0]


def known_as(code: str) -> str:
    """Returns the language code for a tokeniser, which accepts any code."""
    try:
        return language(code)
    except argparse.ArgumentTypeError:
        return code


def is_spaceless(code: str | None, lines: Iterable[str] = ()) -> bool:
    """Returns whether a language, or the beginning of a text in it, has no spaces between words."""
    if code in SPACELESS:
        return True
    # of the first lines their beginnings: one very long line must not decide
    text = "\n".join(line[:1000] for line in islice(lines, 1000))
    return 2 * len(_SPACELESS.findall(text)) > len(_LETTER.findall(text))


def bleu_tokenizer(code: str, lines: Iterable[str] = ()) -> str:
    """Returns the name of sacreBLEU's tokeniser that suits a language; see :func:`is_spaceless`."""
    if code == "zh":
        return "zh"
    return "char" if is_spaceless(code, lines) else "13a"
