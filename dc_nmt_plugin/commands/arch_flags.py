"""``dc-nmt arch-flags``: lists architectures, or the flags and training command of one."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..flags import as_flags
from .parser import Parser, add_json, print_json

if TYPE_CHECKING:
    from ..recipes.architecture import Description, Flag

WIDTH = 100
FOOT = """\
A size is appended to a name; a name without one has the published size. A variant with auxiliary
decoders has only the sizes with enough encoder layers. dc-nmt arch-flags ARCH prints all flags of
one name, dc-nmt arch-flags --json every name."""


def main(argv: Sequence[str]) -> int:
    """Prints the flags of one architecture, or lists all architectures."""
    parser = Parser(prog="dc-nmt arch-flags", description=__doc__)
    parser.add_argument("arch", nargs="?", help="architecture; without it, all are listed")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--names", action="store_true",
        help="print only --arch, --task and --criterion, for use in a command",
    )  # fmt: skip
    add_json(form)
    args = parser.parse_args(argv)
    if args.names and not args.arch:
        parser.error("--names goes with an architecture")

    from ..models.presets import architectures
    from ..recipes.architecture import describe

    if args.arch is None:
        if args.json:
            print_json(sorted(architectures()))
        else:
            print(_overview())
        return 0
    found = describe(args.arch, str(Path(__file__).resolve().parents[1]))
    if args.json:
        print_json({"arch": found.name, **asdict(found)})
    elif args.names:
        print(_names(found))
    else:
        print(_as_text(found))
    return 0


def _overview() -> str:
    """Returns a table of variants for each family, then its sizes."""
    from ..models.presets import FAMILIES

    blocks = []
    for family in FAMILIES:
        sizes = ", ".join(f"_{size}" for size in family.sizes if size)
        about = textwrap.fill(f"{family.name}: {family.about} ({family.cites})", WIDTH)
        lines = [about, f"sizes: {sizes or 'the published one'}"]
        names = ["_".join(filter(None, (family.name, variant))) for variant in family.variants]
        column = max(map(len, names)) + 4
        for name, settings in zip(names, family.variants.values(), strict=True):
            # a flag and its value stay on one line
            flags = " ".join("\xa0".join(as_flags({k: v})) for k, v in settings.items())
            wrapped = textwrap.wrap(flags, WIDTH - column, break_on_hyphens=False) or [""]
            starts = [f"  {name}", *[""] * (len(wrapped) - 1)]
            lines += [
                f"{start:<{column}}{line}".rstrip().replace("\xa0", " ")
                for start, line in zip(starts, wrapped, strict=True)
            ]
        blocks.append("\n".join(lines))
    return "\n\n".join([*blocks, FOOT])


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
