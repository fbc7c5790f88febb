"""Tags words with universal parts of speech, by taggers that ship their models."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence

from ..errors import UsageError, UserError
from ..text.languages import language

# S. Petrov, D. Das, R. McDonald, "A Universal Part-of-Speech Tagset", LREC 2012, with the names of
# context-aware, footnote 3; punctuation is in SYM there
TAGS = (
    *("NOUN", "VERB", "ADJ", "ADV"),  # content words
    *("PRON", "DET", "ADP", "NUM", "CONJ", "PRT", "SYM", "X"),
)

# the longest prefix that is listed counts
_C5 = {  # the British National Corpus's, HanTa's for English
    **dict.fromkeys(("NN", "NP0"), "NOUN"), **dict.fromkeys(("VB", "VD", "VH", "VM", "VV"), "VERB"),
    "AJ": "ADJ", "AV": "ADV", "AVP": "PRT", "PN": "PRON", "EX0": "PRON", "DP": "PRON",
    "AT": "DET", "DT": "DET", "PR": "ADP", "IN": "ADP", "CRD": "NUM", "ORD": "ADJ", "CJ": "CONJ",
    "POS": "PRT", "TO0": "PRT", "XX0": "PRT", "ITJ": "X", "UNC": "X", "ZZ0": "X", "PU": "SYM",
    "!!!": "X",
}  # fmt: skip
_STTS = {  # HanTa's for German
    "N": "NOUN", "V": "VERB", "ADJ": "ADJ", "ADV": "ADV", "PWAV": "ADV", "PROAV": "ADV",
    "P": "PRON", "ART": "DET", "AP": "ADP",
    "APZR": "ADP", "CARD": "NUM", "KO": "CONJ", "PTK": "PRT", "$": "SYM",
    "ITJ": "X", "FM": "X", "TRUNC": "X", "XY": "X",
}  # fmt: skip
_ICTCLAS = {  # jieba's for Chinese
    "n": "NOUN", "t": "NOUN", "s": "NOUN", "f": "NOUN", "v": "VERB", "a": "ADJ", "b": "ADJ",
    "z": "ADJ", "ad": "ADV", "an": "NOUN", "vn": "NOUN", "vd": "ADV", "d": "ADV", "r": "PRON",
    "p": "ADP", "m": "NUM", "q": "NUM", "c": "CONJ", "u": "PRT", "y": "PRT", "e": "PRT", "o": "PRT",
    "h": "PRT", "k": "PRT", "x": "SYM", "w": "SYM", "g": "NOUN", "i": "NOUN", "l": "NOUN",
    "j": "NOUN",
}  # fmt: skip
_HANTA = {"en": ("morphmodel_en.pgz", _C5), "de": ("morphmodel_ger.pgz", _STTS)}


def universal(tag: str, table: dict[str, str]) -> str:
    """Returns the universal tag of a tag; X for a tag outside the table.

    Args:
        tag: of a tagger
        table: prefix → universal tag
    """
    return next((table[tag[:n]] for n in range(len(tag), 0, -1) if tag[:n] in table), "X")


def tagger(lang: str) -> Callable[[Sequence[str]], list[str]]:
    """Returns a function from a sentence's words to universal tags.

    Raises:
        UserError: no tagger for the language, or the tagger is not installed
    """
    try:
        code = language(lang)  # of zh-CN and deu too
    except argparse.ArgumentTypeError:
        code = lang
    if code in _HANTA:
        return _hanta(*_HANTA[code])
    if code == "zh":
        return _jieba()
    raise UsageError(
        f"--tags: there is no tagger for {lang!r} here (en, de and zh have one); give a file with "
        "one line a sentence and one tag a word."
    )


def _hanta(model: str, table: dict[str, str]) -> Callable[[Sequence[str]], list[str]]:
    try:
        from HanTa.HanoverTagger import HanoverTagger
    except ImportError as error:
        raise needs("HanTa", "tags English and German words") from error
    found = HanoverTagger(model)

    def tag(words: Sequence[str]) -> list[str]:
        # a word of white space would vanish
        given = [word if word.strip() else "_" for word in words]
        return [universal(own, table) for _, _, own in found.tag_sent(given)] if given else []

    return tag


def _jieba() -> Callable[[Sequence[str]], list[str]]:
    try:
        with warnings.catch_warnings():  # about setuptools, of no use to a user
            warnings.simplefilter("ignore", UserWarning)
            import jieba
            from jieba import posseg
    except ImportError as error:
        raise needs("jieba", "tags Chinese words") from error
    jieba.setLogLevel(60)

    def tag(words: Sequence[str]) -> list[str]:
        # jieba segments again: a word gets the tag of the piece with its first character
        by_character: list[str] = []
        for word, own in posseg.cut("".join(words)):
            by_character += [universal(own, _ICTCLAS)] * len(word)
        tags, place = [], 0
        for word in words:
            tags.append(by_character[place] if place < len(by_character) else "X")
            place += len(word)
        return tags

    return tag


def needs(package: str, what: str) -> UserError:
    """Returns the message for a missing optional package."""
    return UserError(f"{package} {what} and is not installed: pip install {package}.")
