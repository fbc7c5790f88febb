"""Moses' tokeniser has sacremoses's results."""

import random

import pytest
from sacremoses import MosesTokenizer

from dc_nmt_plugin.laboratory.raw_text.moses import FastMoses

WORDS = ["Mr.", "No.", "Nr.", "z.B.", "U.S.", "art.", "p.", "ca.", "l'", "don't", "1,000", "a-b"]
WORDS += ["...", "..", ".'", "''", ",,", "--", "DOTMULTI", "&amp;", "@-@", "word", "C'est", "5's"]
SIGNS = list("aZéßıñ09٣½ ,.-'`\"&|<>[]();:!?@#$%/\\^_~日ไ한ひ़्")
SPACES = ["\t", "\n", "\x0b", "\x1c", "\x85", "\xa0", "\u2028", "\u3000", "\u200b", "\xad", "\x01"]


@pytest.mark.parametrize("lang", ["en", "fr", "de", "vi", "ro", "ja"])
@pytest.mark.parametrize("hyphens", [False, True])
def test_random_text(lang, hyphens):
    draw = random.Random(lang)
    moses, fast = MosesTokenizer(lang), FastMoses(lang, hyphens)
    kinds = [SIGNS, [*SIGNS, *SPACES], [*WORDS, *SIGNS[:9], *[" "] * 9], list("ab1,.'- ")]
    for _ in range(300 if lang == "ja" else 1500):  # sacremoses is slow there
        text = "".join(draw.choices(draw.choice(kinds), k=draw.randrange(30)))
        assert fast(text) == moses.tokenize(text, hyphens, return_str=True), repr(text)
