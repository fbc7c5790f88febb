#!/usr/bin/env python3
"""Writes into the pages of ``docs/`` what they take from the package: code, tables, flags, help.

usage: python scripts/site/pages.py [--check] [PAGE …]

A page holds ``<!-- insert NAME ARGUMENTS -->`` and ``<!-- /insert -->``. This script writes what is
between; INSERTS has the names. So a page shows the same on the code host and on the site.
With --check nothing is written: pages that are not up to date are named, and the status is 1.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import generated
import results
import source_code
from source_code import ROOT

from dc_nmt_plugin.errors import UserError

DOCS = ROOT / "docs"
INSERT = re.compile(
    r"(?P<start><!-- insert (?P<name>\w+)(?P<arguments>[^\n]*?) -->\n)(?s:.*?)"
    r"(?P<end><!-- /insert -->)"
)


def code(page: Path, arguments: str) -> str:
    """Lines of the package under a link to their file; see :func:`source_code.find`."""
    lines = source_code.find(arguments)
    link = os.path.relpath(source_code.PACKAGE / lines.path, page.parent)
    return f"[{lines.path}, {lines.symbol}]({link})\n\n```python\n{lines.dedented}\n```"


def _words(make: Callable[..., str]) -> Callable[[Path, str], str]:
    return lambda page, arguments: make(*arguments.split())


INSERTS: dict[str, Callable[[Path, str], str]] = {
    "code": code,
    "published": _words(generated.published),
    "scores": _words(generated.scores),
    "claims": _words(generated.claimed),
    "missing": _words(generated.missing),
    "presets": _words(generated.presets),
    "flags": _words(generated.flags),
    "training": _words(generated.training),
    "architectures": _words(generated.architectures),
    "kinds": _words(generated.kinds),
    "bases": _words(generated.bases),
    "commands": _words(generated.commands),
    "rules": _words(generated.rules),
    "results": _words(results.table),
    "advice": _words(results.advice),
}


def updated(page: Path, text: str) -> str:
    """Returns the text of a page with new insertions.

    Raises:
        UserError: an insertion cannot be made
    """

    def replace(match: re.Match[str]) -> str:
        name, arguments = match["name"], match["arguments"].strip()
        if name not in INSERTS:
            raise UserError(f"{page}: insert {name}: there is {', '.join(INSERTS)}")
        try:
            content = INSERTS[name](page, arguments)
        except (LookupError, RuntimeError, TypeError, ValueError) as error:
            raise UserError(f"{page}: insert {name} {arguments}: {error}") from error
        return f"{match['start']}\n{content.strip()}\n\n{match['end']}"

    if text.count("<!-- insert ") != len(INSERT.findall(text)):
        raise UserError(f"{page}: an insertion has no end, <!-- /insert -->")
    return INSERT.sub(replace, text)


def main(words: list[str]) -> int:
    check = "--check" in words
    named = [Path(word).resolve() for word in words if word != "--check"]
    stale = []
    for page in named or sorted(DOCS.rglob("*.md")):
        text = page.read_text("utf-8")
        new = updated(page, text)
        if new != text:
            stale.append(page)
        if new != text and not check:
            page.write_text(new, "utf-8")
            print(f"{page}: written")
    if check:
        for page in stale:
            print(f"{page}: is not up to date; run python scripts/site/pages.py", file=sys.stderr)
    return int(check and bool(stale))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except UserError as problem:
        sys.exit(f"error: {problem}")
