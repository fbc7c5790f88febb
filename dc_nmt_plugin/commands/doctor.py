"""``dc-nmt doctor``: lists missing parts, commands that install them, and changes to fairseq.

This module imports only the standard library. torch, fairseq and the plugin are tested in separate
processes, so the report also appears when one of them is missing, broken or crashes.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from ..environment.checks import report
from .parser import Parser, add_json, print_json

CHANGES = (
    "Changes to fairseq, torch, numpy and Python, each with what goes wrong without it. They are "
    "for fairseq's programs and dc-nmt; those marked * also for your own Python that imports the "
    "plugin."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the report; returns 1 if a required part is broken, else 0."""
    parser = Parser(prog="dc-nmt doctor", description=(__doc__ or "").split("\n")[0])
    add_json(parser)
    arguments = parser.parse_args(argv)
    checks, changes = report()
    broken = [check for check in checks if check.required and not check.ok]
    if arguments.json:
        rows = [asdict(check) for check in checks]
        print_json({"ok": not broken, "checks": rows, "changes": changes})
        return int(bool(broken))
    for check in checks:
        status = "ok" if check.ok else "BROKEN" if check.required else "warning"
        print(f"{status:<8}{check.name:<10}{check.value}")
        if check.remedy:
            print(f"{'':<18}fix: {check.remedy}")
    columns = max(60, shutil.get_terminal_size((100, 24)).columns)
    if changes:
        print(f"\n{textwrap.fill(CHANGES, columns)}")
    for change in changes:
        print(f"{'*' if change['loading'] else ' '} {change['name']}")
        lines = [f"{target} {digest}".rstrip() for target, digest in change["targets"].items()]
        lines.append(f"{change['state']}; {change['reason']} (since {change['since']})")
        for line in lines:
            print(textwrap.fill(line, columns, initial_indent="    ", subsequent_indent="    "))
    warnings = sum(not check.ok for check in checks) - len(broken)
    print(f"\n{len(broken)} broken, {warnings} warnings, {len(checks)} checks")
    return int(bool(broken))
