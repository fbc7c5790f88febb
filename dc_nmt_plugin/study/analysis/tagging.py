"""Tags words with universal parts of speech, by HanTa."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import UsageError
from ...text.languages import known_as

# S. Petrov, D. Das, R. McDonald, "A Universal Part-of-Speech Tagset", LREC 2012, with the names of
# context-aware, footnote 3; punctuation is in SYM there
CONTENT_WORDS = ("NOUN", "VERB", "ADJ", "ADV")
TAGS = (*CONTENT_WORDS, "PRON", "DET", "ADP", "NUM", "CONJ", "PRT", "SYM", "X")

# the longest prefix that is listed counts
# fmt: off
_C5 = {  # the British National Corpus's, HanTa's for English
    **dict.fromkeys(("NN", "NP0"), "NOUN"), **dict.fromkeys(("VB", "VD", "VH", "VM", "VV"), "VERB"),
    "AJ": "ADJ", "AV": "ADV", "AVP": "PRT", "PN": "PRON", "EX0": "PRON", "DP": "PRON",
    "AT": "DET", "DT": "DET", "PR": "ADP", "IN": "ADP", "CRD": "NUM", "ORD": "ADJ", "CJ": "CONJ",
    "POS": "PRT", "TO0": "PRT", "XX0": "PRT", "ITJ": "X", "UNC": "X", "ZZ0": "X", "PU": "SYM",
    "!!!": "X",
}
_STTS = {  # HanTa's for German
    "N": "NOUN", "V": "VERB", "ADJ": "ADJ", "ADV": "ADV", "PWAV": "ADV", "PROAV": "ADV",
    "P": "PRON", "ART": "DET", "AP": "ADP",
    "APZR": "ADP", "CARD": "NUM", "KO": "CONJ", "PTK": "PRT", "$": "SYM",
    "ITJ": "X", "FM": "X", "TRUNC": "X", "XY": "X",
}
# fmt: on
_HANTA = {"en": ("morphmodel_en.pgz", _C5), "de": ("morphmodel_ger.pgz", _STTS)}


def universal(tag: str, table: dict[str, str]) -> str:
    """Returns the universal tag of a tag, by a table of prefixes; X for a tag outside it."""
    return next((table[tag[:n]] for n in range(len(tag), 0, -1) if tag[:n] in table), "X")


def tagger(lang: str) -> Callable[[Sequence[str]], list[str]]:
    """Returns a function from a sentence's words to universal tags.

    Raises:
        UserError: no tagger for the language
    """
    code = known_as(lang)  # of de-AT and deu too
    if code not in _HANTA:
        raise UsageError(
            f"--tags: there is no tagger for {lang!r} here (en and de have one); give a file with "
            "one line a sentence and one tag a word."
        )
    model, table = _HANTA[code]
    from HanTa.HanoverTagger import HanoverTagger

    hanta = HanoverTagger(model)

    def tag(sentence: Sequence[str]) -> list[str]:
        # a word of white space would vanish
        visible = [word if word.strip() else "_" for word in sentence]
        if not visible:
            return []
        return [universal(tag_of_hanta, table) for _, _, tag_of_hanta in hanta.tag_sent(visible)]

    return tag
