"""Language codes, as users write them."""

from __future__ import annotations

import argparse
import re

_CODE = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]+)*", re.I)


def known_as(code: str) -> str:
    """Returns the code for tokenisers, which have rules for any other code too."""
    try:
        return language(code)
    except argparse.ArgumentTypeError:
        return code


def language(text: str) -> str:
    """Returns the language of a code, without country or script, for tokenisers and metrics.

    They know codes of two letters, where a language has one (ISO 639-1).

    >>> language("zh-CN"), language("ZH"), language("en_GB"), language("fra_Latn")
    ('zh', 'zh', 'en', 'fr')

    Raises:
        ArgumentTypeError: it is no code
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
