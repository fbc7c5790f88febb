"""Codes of languages, as users write them."""

from __future__ import annotations

import argparse
import re

_CODE = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]+)*", re.I)
_LONG = {"zho": "zh", "chi": "zh", "cmn": "zh", "jpn": "ja", "deu": "de", "ger": "de", "eng": "en"}


def language(text: str) -> str:
    """The language of a code, without country or script: what tokenisers and metrics go by.

    >>> language("zh-CN"), language("ZH"), language("en_GB")
    ('zh', 'zh', 'en')

    Raises:
        ArgumentTypeError: it is no code
    """
    match = _CODE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not the code of a language, such as de")
    code = match[1].lower()
    return _LONG.get(code, code)
