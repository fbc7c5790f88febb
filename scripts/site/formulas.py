r"""Formulas as MathML, made when the site is built: no script, no font and no network to read it.

``pymdownx.arithmatex`` finds the formulas and leaves them as ``\(…\)`` and ``\[…\]``. The number of
an equation, ``\tag{…}`` at its end, is put beside it.
"""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

_FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<open>[(\[])(?P<tex>.*?)\\[)\]]</(?P=tag)>', re.S
)


def as_mathml(page: str) -> str:
    """A page's HTML with its formulas as MathML."""
    return _FORMULA.sub(_as_mathml, page)


def _as_mathml(match: re.Match[str]) -> str:
    tex, _, number = html.unescape(match["tex"]).strip().partition(r"\tag{")
    display = "block" if match["open"] == "[" else "inline"
    mathml = convert(tex, display=display)
    beside = f'<span class="number">({number.rstrip("}")})</span>' if number else ""
    shown = f'<div class="scrolls">{mathml}</div>{beside}' if display == "block" else mathml
    return f'<{match["tag"]} class="formula">{shown}</{match["tag"]}>'
