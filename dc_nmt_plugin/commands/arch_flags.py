"""``dc-nmt arch-flags``: which task and criterion belong to an architecture."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from ..errors import UserError, choice_problem


def main(argv: Sequence[str]) -> int:
    """Print the flags of one architecture, or list all architectures."""
    parser = argparse.ArgumentParser(prog="dc-nmt arch-flags", description=__doc__)
    parser.add_argument("arch", nargs="?", help="an architecture; without it, all are listed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)

    from ..models.presets import architectures

    known = architectures()
    if args.arch is None:
        print(json.dumps(sorted(known)) if args.json else "\n".join(sorted(known)))
        return 0
    problem = choice_problem("architecture", args.arch, known)
    if problem:
        raise UserError(problem)
    family = known[args.arch].family
    flags = {"arch": args.arch, "task": family.task, "criterion": family.criterion}
    if args.json:
        print(json.dumps(flags))
    else:
        print(" ".join(f"--{name} {value}" for name, value in flags.items()))
    return 0
