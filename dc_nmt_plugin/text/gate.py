"""Refuses text with problems, and shows all problems in one table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from ..errors import UserError
from ..table import format_table
from .kinds import KINDS
from .scan import Finding, Scan, pair_findings, scan, shared_finding

# kinds of problems that make a text unusable for every purpose
SPOILT = ("utf-8", "bpe", "piece", "xml", "iwslt", "tmx", "json", "tab", "mojibake")
# further kinds, for files that fairseq reads directly
UNUSABLE = ("line-end", "blank", "unseen", "symbol")


def look_at(groups: Sequence[Sequence[Path]]) -> tuple[list[list[Scan]], list[Finding]]:
    """Looks at files of one text each, or at pairs of them.

    Args:
        groups: one file, or source and target; the training text first

    Returns:
        the scans of each group's files, and all findings; those of the first group include source
        lines that are also in the others

    Raises:
        UserError: a file cannot be read, or is empty
    """
    scans = [[scan(path) for path in group] for group in groups]
    found: list[Finding] = []
    for group in scans:
        found += [finding for side in group for finding in side.findings]
        if len(group) == 2 and group[0].lines == group[1].lines:
            found += pair_findings(*group)
    for source, *_ in scans[1:]:
        shared = shared_finding(scans[0][0], source)
        found += [shared] if shared else []
    return scans, found


def check_lines(group: Sequence[Scan]) -> None:
    """
    Raises:
        UserError: a file is not UTF-8, or the files have different numbers of lines
    """
    first = group[0]
    for finding in (finding for side in group for finding in side.findings):
        if finding.kind == "utf-8":
            raise UserError(str(finding))
    for other in group[1:]:
        if first.lines != other.lines:
            raise UserError(
                f"{first.name} has {first.lines} lines but {other.name} has {other.lines}: "
                "line n of one must translate line n of the other"
            )


def as_table(findings: Sequence[Finding]) -> str:
    """Returns a row for each file and kind of problem."""
    rows = [
        (f.file, KINDS[f.kind].name, f"{f.lines:,}", str(f.first), f.example)
        for f in dict.fromkeys(findings)
    ]
    return format_table(("file", "problem", "lines", "first", "example"), rows)


def refused(
    findings: Sequence[Finding], kinds: Collection[str] = (), allowed: Collection[str] = ()
) -> list[Finding]:
    """Returns the findings for which a text is refused.

    Args:
        findings: of all files
        kinds: refused in addition to SPOILT
        allowed: not refused
    """
    wrong = {*SPOILT, *kinds} - set(allowed)
    return [f for f in dict.fromkeys(findings) if f.kind in wrong and f.counts]


def refuse(
    findings: Sequence[Finding], kinds: Collection[str] = (), allowed: Collection[str] = ()
) -> None:
    """
    Raises:
        UserError: the message has the first refused finding, and the number of others
    """
    found = refused(findings, kinds, allowed)
    if found:
        more = len(found) - 1
        others = f" ({more} more problem{'s' * (more > 1)} like this)" if more else ""
        raise UserError(f"{found[0]}{others}")
