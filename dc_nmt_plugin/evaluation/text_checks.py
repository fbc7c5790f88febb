"""Finds text that would make a score silently wrong: tokenised text, <unk>, empty lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import UserError
from ..text.checks import form_of, refuse, scan_lines, tokenized_sign
from .generated import UNKNOWN
from .metrics import DOTLESS


def check_reference(
    hypotheses: str, count: int, path: str, lines: Sequence[str], allowed: Sequence[str] = ()
) -> None:
    """Checks that a reference has a sentence for each hypothesis, and can be scored against.

    Args:
        hypotheses: their file, for the message
        count: of hypotheses
        path: of the reference
        lines: of the reference
        allowed: kinds of problems (of text/checks.py) that are accepted here

    Raises:
        UserError: another number of lines, or lines that are blank or have <unk>
    """
    if count != len(lines):
        raise UserError(
            f"{hypotheses} against {path}: {count} hypotheses for {len(lines)} references: "
            "the scores would compare different sentences"
        )
    blank = _numbers(not line.strip() for line in lines)
    if blank:
        raise UserError(
            f"{path}: {len(blank):,} references are blank, the first in line {blank[0]}: nothing "
            "can be compared with them"
        )
    unknown = _numbers(UNKNOWN.search(line) for line in lines)
    if unknown:
        raise UserError(
            f"{path}: <unk> in {len(unknown)} references, first in line {unknown[0]}: "
            "these are the T- lines of fairseq-generate; score against the original text"
        )
    refuse(scan_lines(path, lines).findings, (), allowed)


def _numbers(found: Iterable[object]) -> list[int]:
    return [number for number, each in enumerate(found, start=1) if each]


def check_raw(path: str, lines: Sequence[str]) -> None:
    """
    Raises:
        UserError: a raw reference looks tokenised
    """
    sign = tokenized_sign(lines)
    if sign:
        raise UserError(
            f"{path}: looks tokenised ({sign[2]}), where raw text is expected: give it as "
            "--tokenized-reference, without --reference"
        )


def hypothesis_warnings(path: str, lines: Sequence[str]) -> list[str]:
    """Returns warnings about empty hypotheses and <unk>, which are scored all the same."""
    empty = _numbers(not line.strip() for line in lines)
    unknown = _numbers(UNKNOWN.search(line) for line in lines)
    warnings = []
    for what, numbers in (("empty hypotheses", empty), ("hypotheses with <unk>", unknown)):
        if numbers:
            warnings.append(f"{path}: {len(numbers):,} {what}, the first in line {numbers[0]:,}")
    return warnings


def case_warnings(
    path: str, hypotheses: Sequence[str], references: Sequence[str], target_lang: str
) -> list[str]:
    """Returns a warning if only one side is lower-cased."""
    sides = {"hypotheses": hypotheses, "references": references}
    lower = [side for side, lines in sides.items() if all(line == line.lower() for line in lines)]
    if len(lower) != 1:
        return []
    remedy = "see the metrics with -lc"
    if target_lang in DOTLESS:
        remedy = f"lower-case both as {target_lang} does, because metrics with -lc make i of I"
    return [f"{path}: only the {lower[0]} are lower-cased: {remedy}"]


def form_warnings(path: str, hypotheses: Sequence[str], references: Sequence[str]) -> list[str]:
    """Returns a warning if the sides are in different forms of Unicode."""
    forms = form_of(hypotheses), form_of(references)
    if None in forms or forms[0] == forms[1]:
        return []
    return [
        f"{path}: the hypotheses are in Unicode's form {forms[0]}, the references in {forms[1]}: "
        "equal letters do not match; bring both into one form"
    ]
