"""Tokenises and detokenises like the recipes, so that both sides of a score agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .languages import known_as
from .reversible import join_line, split_line

# As in the recipes, jieba segments Chinese.
# name → (hyphens inside words split to " @-@ ", special characters escaped such as &apos;)
MOSES = {
    "moses": (False, True),  # Moses' and sacremoses' own default
    "moses-a": (True, True),
    "moses-no-escape": (False, False),
    "moses-a-no-escape": (True, False),
}
TOKENIZERS = (*MOSES, "split", "none")


def detokenize(lines: Sequence[str], tokenizer: str, lang: str) -> list[str]:
    """Undoes a tokenisation, with ``&apos;`` and ``@-@``; "none" leaves the text unchanged.

    Args:
        lines: tokenised, without BPE
        tokenizer: one of TOKENIZERS
        lang: two letters, for Moses
    """
    return _each(lines, _moses_detokenizer(lang) if tokenizer in MOSES else _JOIN[tokenizer])


def detruecase(lines: Sequence[str]) -> list[str]:
    """Capitalises the beginning of tokenised, truecased sentences."""
    from sacremoses import MosesDetruecaser

    moses = MosesDetruecaser()
    return _each(lines, lambda line: moses.detruecase(line, return_str=True))


def untokenize(
    lines: Sequence[str], tokenizer: str, lang: str, truecased: bool = False
) -> list[str]:
    """Turns tokenised output into plain text: :func:`detruecase` on request, then
    :func:`detokenize`."""
    return detokenize(detruecase(lines) if truecased else lines, tokenizer, lang)


def tokenize(lines: Sequence[str], tokenizer: str, lang: str) -> list[str]:
    """Tokenises raw lines; the arguments are those of :func:`detokenize`."""
    return _each(
        lines, moses_tokenizer(tokenizer, lang) if tokenizer in MOSES else _SPLIT[tokenizer]
    )


def _each(lines: Sequence[str], change: Callable[[str], str]) -> list[str]:
    return [change(line) for line in lines]


_JOIN: dict[str, Callable[[str], str]] = {"split": join_line, "none": str}
_SPLIT: dict[str, Callable[[str], str]] = {"split": split_line, "none": str}


def _moses_detokenizer(lang: str) -> Callable[[str], str]:
    from sacremoses import MosesDetokenizer

    moses = MosesDetokenizer(lang=known_as(lang))
    return lambda line: moses.detokenize(line.split(), unescape=True)


def moses_tokenizer(name: str, lang: str) -> Callable[[str], str]:
    """Returns a function that tokenises one line: Moses, and jieba for Chinese.

    Args:
        name: one of MOSES
        lang: two letters
    """
    lang = known_as(lang)
    if lang == "zh":
        from rjieba import cut

        return lambda line: " ".join(" ".join(cut(line)).split())
    from sacremoses import MosesTokenizer

    moses = MosesTokenizer(lang=lang)
    hyphens, escape = MOSES[name]
    return lambda line: moses.tokenize(
        line, aggressive_dash_splits=hyphens, return_str=True, escape=escape
    )
