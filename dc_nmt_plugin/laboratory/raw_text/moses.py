"""Moses' tokeniser with the results of sacremoses, in a quarter of its time.

sacremoses looks at each character of each line by each of its rules. Nearly all lines have few
places where a rule can do anything, and the same places again and again. Here sacremoses's rules
are called for these places, and the answers are kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

_JUNK = re.compile("[\0-\37]")
KEPT = 1 << 16  # answers


class FastMoses:
    """Tokenises lines of one language, as ``MosesTokenizer.tokenize`` with ``return_str``.

    Args:
        lang: as sacremoses knows it
        hyphens: ``aggressive_dash_splits`` of sacremoses
    """

    def __init__(self, lang: str, hyphens: bool = False) -> None:
        from sacremoses import MosesTokenizer

        moses: Any = MosesTokenizer(lang)
        apostrophes = {
            "en": moses.ENGLISH_SPECIFIC_APOSTROPHE,
            "fr": moses.FR_IT_SPECIFIC_APOSTROPHE,
            "it": moses.FR_IT_SPECIFIC_APOSTROPHE,
        }
        commas = [moses.COMMA_SEPARATE_1, moses.COMMA_SEPARATE_2, moses.COMMA_SEPARATE_3]
        self._moses, self._hyphens = moses, hyphens
        self._symbols = moses.PAD_NOT_ISALNUM[0]
        self._at_hyphens = _AtMark("-", [moses.AGGRESSIVE_HYPHEN_SPLIT])
        self._at_commas = _AtMark(",", commas)
        self._at_apostrophes = _AtMark("'", apostrophes.get(lang, [moses.NON_SPECIFIC_APOSTROPHE]))
        self._entities = {char: moses.escape_xml(char) for char in "&|<>'\"[]"}
        self._full_stop = lru_cache(KEPT)(self._split_full_stop)

    def __call__(self, line: str) -> str:
        text = " ".join(line.split())
        if _JUNK.search(text):  # sacremoses leaves other spaces around it
            return str(self._moses.tokenize(line, self._hyphens, return_str=True))
        for symbol in set(self._symbols.findall(text)):
            text = text.replace(symbol, f" {symbol} ")
        if self._hyphens:
            text = self._at_hyphens(text)
        if ".." in text:
            text = self._moses.replace_multidots(text)
        text = self._at_apostrophes(self._at_commas(text))
        text = self._split_full_stops(text)
        if text.endswith(".'"):
            regexp, substitution = self._moses.TRAILING_DOT_APOSTROPHE
            text = regexp.sub(substitution, text)
        if "DOTMULTI" in text:
            text = self._moses.restore_multidots(text)
        for char, entity in self._entities.items():
            text = text.replace(char, entity)
        return text

    def _split_full_stops(self, text: str) -> str:
        tokens = text.split()
        for i, token in enumerate(tokens):
            if token[-1] == ".":
                following = tokens[i + 1][0] if i + 1 < len(tokens) else ""
                tokens[i] = self._full_stop(token, following)
        return " ".join(tokens)

    def _split_full_stop(self, token: str, following: str) -> str:
        """Returns a token that ends with a full stop, split if it ends the sentence.

        Args:
            token: without spaces
            following: first character of the next token; "" if there is none
        """
        split = self._moses.handles_nonbreaking_prefixes(f"{token} {following}")
        return str(split).removesuffix(following).rstrip()


class _AtMark:
    """Applies rules about a mark and the characters before and after it."""

    def __init__(self, mark: str, rules: Sequence[tuple[re.Pattern[str], str]]) -> None:
        self._mark, self._rules = mark, rules
        self._near = re.compile(f"{mark}.?{mark}")
        self._kept = lru_cache(KEPT)(self._apply)

    def __call__(self, text: str) -> str:
        if self._mark not in text:
            return text
        if self._near.search(text):  # two marks have a neighbour in common
            return self._apply(text)
        done, *rest = text.split(self._mark)
        for part in rest:
            done = done[:-1] + self._kept(done[-1:] + self._mark + part[:1]) + part[1:]
        return done

    def _apply(self, text: str) -> str:
        for regexp, substitution in self._rules:
            text = regexp.sub(substitution, text)
        return text
