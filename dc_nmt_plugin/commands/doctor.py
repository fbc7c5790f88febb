"""``dc-nmt doctor``: lists missing parts of the environment and the command that installs each.

This module imports only the standard library. torch, fairseq and the plugin are tested in separate
processes, so the report also appears when one of them is missing, broken or crashes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from ..environment.checks import Check, report
from .parser import Parser


def status(check: Check) -> str:
    if check.ok:
        return "ok"
    return "BROKEN" if check.required else "warning"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the report; 1 where something required is broken, else 0."""
    parser = Parser(prog="dc-nmt doctor", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    arguments = parser.parse_args(argv)
    checks = report()
    broken = [check for check in checks if check.required and not check.ok]
    if arguments.json:
        rows = [asdict(check) for check in checks]
        print(json.dumps({"ok": not broken, "checks": rows}, indent=2))
        return int(bool(broken))
    width = max(len(check.name) for check in checks)
    for check in checks:
        print(f"{status(check):<8}{check.name:<{width}}  {check.value}")
        if check.remedy:
            print(f"{'':<8}{'':<{width}}  fix: {check.remedy}")
    warnings = sum(not check.ok for check in checks) - len(broken)
    print(f"\n{len(broken)} broken, {warnings} warnings, {len(checks)} checks")
    return int(bool(broken))
