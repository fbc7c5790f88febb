"""Finds text that would make a score silently wrong: tokenised text, <unk>, empty lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import UserError
from ..text.checks import refuse, scan_lines, tokenized_sign
from ..text.languages import spaceless_codes

UNSPACED = spaceless_codes()  # of these, lengths are numbers of characters
# mark of a tokeniser → the same character in raw text
MARKS = {"@-@": r"\w-\w", "&apos;": "'", "&quot;": '"'}
UNKNOWN = re.compile(r"<{1,2}unk>{1,2}")


def check_counts(hypotheses: int, references: int) -> None:
    """Checks that there are as many hypotheses as references.

    Raises:
        UserError: the numbers differ
    """
    if hypotheses != references:
        raise UserError(
            f"{hypotheses} hypotheses for {references} references: "
            "the scores would compare different sentences"
        )


def check_references(path: object, lines: Sequence[str]) -> None:
    """Checks that no reference is blank or has <unk>, which only comes from a dictionary.

    Raises:
        UserError: the message has the first line and the number of lines
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


def check_text(path: object, lines: Sequence[str], allowed: Sequence[str] = ()) -> None:
    """Checks that text can be scored: whole words, the right encoding, no markup.

    Args:
        path: of the text, for the message
        lines: of the text
        allowed: kinds of problems (of text/checks.py) that are accepted here

    Raises:
        UserError: a kind of problem that spoils the whole text
    """
    refuse(scan_lines(path, lines).findings, (), allowed)


def check_raw(path: object, lines: Sequence[str], remedy: str) -> None:
    """Checks that text is raw.

    Raises:
        UserError: the text looks tokenised
    """
    sign = tokenized_sign(lines)
    if sign:
        raise UserError(
            f"{path}: looks tokenised ({sign.text}), where raw text is expected: {remedy}"
        )


def hypothesis_warnings(origin: object, lines: Sequence[str]) -> list[str]:
    """Returns warnings about empty hypotheses and <unk>, which are scored all the same."""
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
    """Returns warnings about marks of only one side: different tokenisation or casing."""
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
