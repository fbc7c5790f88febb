"""Language codes, as users write them."""

from __future__ import annotations

import argparse
import re

_CODE = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]+)*", re.I)


def known_as(code: str) -> str:
    """Returns the language code for a tokeniser, which accepts any code."""
    try:
        return language(code)
    except argparse.ArgumentTypeError:
        return code


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
