"""``dc-nmt arch-flags``: lists architectures, or the flags and training command of one."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from ..table import format_table
from .completion import completed, sized_names
from .parser import Parser
from .user_dir import user_dir

if TYPE_CHECKING:
    from ..recipes.architecture import Description, Flag

WIDTH = 100


def main(argv: Sequence[str]) -> int:
    """Prints the flags of one architecture, or lists all architectures."""
    parser = Parser(prog="dc-nmt arch-flags", description=__doc__)
    arch = parser.add_argument("arch", nargs="?", help="architecture; without it, all are listed")
    completed(arch, sized_names)
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--names", action="store_true",
        help="print only --arch, --task and --criterion, for use in a command",
    )  # fmt: skip
    form.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    if args.names and not args.arch:
        parser.error("--names goes with an architecture")

    from ..models.presets import architectures
    from ..recipes.architecture import describe, one_line

    if args.arch is None:
        known = architectures()
        rows = [(name, one_line(known[name])) for name in sorted(known)]
        print(json.dumps(sorted(known)) if args.json else format_table(("--arch", "what"), rows))
        return 0
    found = describe(args.arch, user_dir())
    if args.json:
        print(json.dumps({"arch": found.name, **asdict(found)}, indent=2))
    elif args.names:
        print(_names(found))
    else:
        print(_as_text(found))
    return 0


def _names(found: Description) -> str:
    return f"--arch {found.name} --task {found.task} --criterion {found.criterion}"


def _as_text(found: Description) -> str:
    return "\n\n".join(
        [
            f"{found.name}: {found.about}\n({found.cites})",
            _names(found),
            "\n".join(line for flag in found.flags for line in _lines(flag)),
            textwrap.fill(f"Where the paper's values come from: {found.source}", WIDTH),
            f"On one GPU, with the paper's schedule:\n\n{found.command}",
        ]
    )


def _lines(flag: Flag) -> list[str]:
    published = f", in the paper {flag.paper}" if flag.paper else ""
    about = f"{flag.about}. {flag.choices}; default {flag.default or 'none'}{published}"
    indent = " " * 6
    return [
        f"  {flag.name} {flag.here}".rstrip(),
        textwrap.fill(about, WIDTH, initial_indent=indent, subsequent_indent=indent),
    ]
