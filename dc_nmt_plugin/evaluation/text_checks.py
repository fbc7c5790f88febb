"""What makes a score silently wrong: tokenised text taken for raw, <unk>, empty lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import UserError

# Words or characters make no difference to their own tokenisers in sacreBLEU.
UNSPACED = ("zh", "ja")
MOSES_MARK = re.compile(r"(?:^| )@-@(?: |$)|&(?:apos|quot|amp|lt|gt|#9[13]|#124);")
FREE_STOP = re.compile(r"(?:^| )[.,](?: |$)")  # not ? ! : ; which French sets apart in raw text
STOP = re.compile(r"[.,](?: |$)")
# what a tokeniser leaves → what stands there in text that it did not see
MARKS = {"@-@": r"\w-\w", "&apos;": "'", "&quot;": '"'}
PIECE = re.compile(r"\S@@(?: |$)")
SPACE_MARK = "▁"
# UTF-8 that was taken for Latin-1 and written as UTF-8 again: é has become Ã©
MOJIBAKE = re.compile(r"[ÂÃâ][\x80-\xbf]|\ufffd")
UNKNOWN = re.compile(r"<{1,2}unk>{1,2}")


def tokenized_sign(lines: Sequence[str]) -> str | None:
    """Why the lines look tokenised, naming one of them; None if they look like raw text.

    Signs are what Moses leaves (`` @-@ ``, ``&apos;``) in more than one line in a hundred, or
    commas and full stops standing alone in at least half of the lines that have any.
    """
    marked = [n for n, line in enumerate(lines, start=1) if MOSES_MARK.search(line)]
    if marked and len(marked) * 100 > len(lines):
        found = MOSES_MARK.search(lines[marked[0] - 1])
        return f"{found[0].strip()!r} in line {marked[0]}" if found else None
    free = [n for n, line in enumerate(lines, start=1) if FREE_STOP.search(line)]
    with_stop = sum(1 for line in lines if STOP.search(line))
    if free and 2 * len(free) >= with_stop:
        return f"{len(free)} of {with_stop} lines with free-standing punctuation, as line {free[0]}"
    return None


def untokenized_sign(lines: Sequence[str]) -> str | None:
    """Why the lines do not look tokenised: most commas and full stops hang on their words."""
    with_stop = [n for n, line in enumerate(lines, start=1) if STOP.search(line)]
    free = sum(1 for line in lines if FREE_STOP.search(line))
    if len(with_stop) >= 10 and 2 * free < len(with_stop):
        hanging = len(with_stop) - free
        return f"{hanging} of {len(with_stop)} lines with punctuation attached to words"
    return None


def check_counts(hypotheses: int, references: int) -> None:
    """As many hypotheses as references?

    Raises:
        UserError: no.
    """
    if hypotheses != references:
        raise UserError(
            f"{hypotheses} hypotheses for {references} references: "
            "the scores would compare different sentences"
        )


def check_references(path: object, lines: Sequence[str]) -> None:
    """References that are there, without <unk>, which only text from a dictionary has.

    Raises:
        UserError: with the first line and their number.
    """
    blank = [n for n, line in enumerate(lines, start=1) if not line.strip()]
    if blank:
        raise UserError(
            f"{path}: {len(blank):,} references are blank, the first in line {blank[0]}: nothing "
            "can be compared with them"
        )
    unknown = [n for n, line in enumerate(lines, start=1) if UNKNOWN.search(line)]
    if unknown:
        raise UserError(
            f"{path}: <unk> in {len(unknown)} references, first in line {unknown[0]}: "
            "these are the T- lines of fairseq-generate; score against the original text"
        )


def check_whole_words(path: object, lines: Sequence[str], tokenizer: str, tokenized: bool) -> None:
    """Words that are put together again.

    Args:
        path: of the text, for the message
        lines: of it
        tokenizer: one of TOKENIZERS; "split" marks spaces itself
        tokenized: the text is

    Raises:
        UserError: marks of subwords are left, naming one
    """
    marked = [n for n, line in enumerate(lines, start=1) if PIECE.search(line)]
    if len(marked) * 100 > len(lines):
        raise UserError(
            f"{path}: has the marks of BPE ('@@ ') in {len(marked):,} lines, first in line "
            f"{marked[0]}: join the words first, with sed 's/@@ //g' or fairseq-generate's "
            "--remove-bpe"
        )
    if tokenizer == "split" and tokenized:
        return
    marked = [n for n, line in enumerate(lines, start=1) if SPACE_MARK in line]
    if marked:
        raise UserError(
            f"{path}: has {SPACE_MARK!r} in {len(marked):,} lines, first in line {marked[0]}: "
            "these are pieces, of sentencepiece (fairseq-generate --remove-bpe sentencepiece joins "
            "them) or of dc-nmt split-text (--tokenizer split)"
        )


def check_decoding(path: object, lines: Sequence[str]) -> None:
    """Text that was decoded rightly when it was made.

    Raises:
        UserError: more than one line in a hundred has what Latin-1 makes of UTF-8
    """
    bad = [n for n, line in enumerate(lines, start=1) if MOJIBAKE.search(line)]
    if len(bad) * 100 > len(lines):
        found = MOJIBAKE.search(lines[bad[0] - 1])
        raise UserError(
            f"{path}: looks like UTF-8 that was taken for Latin-1 ({found[0] if found else ''!r} "
            f"in line {bad[0]}): make the file again from the original"
        )


def check_raw(path: object, lines: Sequence[str], remedy: str) -> None:
    """Raw text where raw text is expected.

    Raises:
        UserError: the text looks tokenised.
    """
    sign = tokenized_sign(lines)
    if sign:
        raise UserError(f"{path}: looks tokenised ({sign}), where raw text is expected: {remedy}")


def hypothesis_warnings(origin: object, lines: Sequence[str]) -> list[str]:
    """Sentences about empty hypotheses and <unk>: they are scored, but should be known."""
    warnings = []
    for what, bad in (
        ("empty hypotheses", [n for n, line in enumerate(lines, start=1) if not line.strip()]),
        ("hypotheses with <unk>", [n for n, x in enumerate(lines, start=1) if UNKNOWN.search(x)]),
    ):
        if bad:
            warnings.append(f"{origin}: {len(bad):,} {what}, the first in line {bad[0]:,}")
    return warnings


def unlike_warnings(
    origin: object, hypotheses: Sequence[str], references: Sequence[str]
) -> list[str]:
    """Sentences about what one side has and the other never has: two tokenisations, or casings."""
    warnings = []
    sides = {"hypotheses": "\n".join(hypotheses), "references": "\n".join(references)}
    for mark, plain in MARKS.items():
        counts = {side: text.count(mark) for side, text in sides.items()}
        having, other = sorted(counts, key=lambda side: -counts[side])
        often = counts[having] * 100 > len(references)
        if often and not counts[other] and re.search(plain, sides[other]):
            warnings.append(
                f"{origin}: the {having} have {mark!r} {counts[having]:,} times, the {other} "
                "never: they are tokenised differently, see --tokenizer"
            )
    lower = {side: text == text.lower() for side, text in sides.items()}
    if lower["hypotheses"] != lower["references"]:
        side = "hypotheses" if lower["hypotheses"] else "references"
        warnings.append(f"{origin}: only the {side} are lower-cased: see the metrics with -lc")
    return warnings
