"""``dc-nmt arch-flags``: lists architectures, or the training command and flags of one."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..flags import as_flags, flag_name
from .parser import Parser, add_json, print_json

if TYPE_CHECKING:
    from ..models.presets import Family
    from ..recipes.architecture import Flag

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
    names_help = "print only --arch, --task and --criterion, for use in a command"
    form.add_argument("--names", action="store_true", help=names_help)
    add_json(form)
    args = parser.parse_args(argv)
    if args.names and not args.arch:
        parser.error("--names goes with an architecture")

    from ..models.presets import FAMILIES, architectures
    from ..recipes.architecture import describe

    if args.arch is None:
        if args.json:
            print_json(sorted(architectures()))
        else:
            print("\n\n".join([*map(_family, FAMILIES), FOOT]))
        return 0
    found = describe(args.arch, str(Path(__file__).resolve().parents[1]))
    names = f"--arch {found.name} --task {found.task} --criterion {found.criterion}"
    if args.json:
        print_json({"arch": found.name, **asdict(found)})
    elif args.names:
        print(names)
    else:
        own = _own_flags(architectures()[args.arch].family)
        print(f"{found.name}: {found.about}\n({found.cites})\n\n{names}\n")
        print(f"On one GPU, with the paper's schedule:\n\n{found.command}\n")
        print(textwrap.fill(f"Where the training settings come from: {found.source}", WIDTH))
        for title, flags in (
            ("Flags of the mechanism", [flag for flag in found.flags if flag.name in own]),
            ("Other flags of the model", [flag for flag in found.flags if flag.name not in own]),
        ):
            if flags:
                print("\n".join([f"\n{title}:\n", *map(_flag, flags)]))
    return 0


def _family(family: Family) -> str:
    """Returns a family's sizes, and a table of its variants and what they set."""
    sizes = ", ".join(f"_{size}" for size in family.sizes if size)
    about = textwrap.fill(f"{family.name}: {family.about} ({family.cites})", WIDTH)
    lines = [about, f"sizes: {sizes or 'the published one'}"]
    names = [f"{family.name}_{variant}".rstrip("_") for variant in family.variants]
    column = max(map(len, names)) + 4
    for name, settings in zip(names, family.variants.values(), strict=True):
        # a flag and its value stay on one line
        flags = ["\xa0".join(as_flags({key: value})) for key, value in settings.items()]
        text = textwrap.fill(
            " ".join([f"  {name}".ljust(column - 1, "\xa0"), *flags]),
            WIDTH, subsequent_indent=" " * column, break_on_hyphens=False,
        )  # fmt: skip
        lines.append(text.replace("\xa0", " ").rstrip())
    return "\n".join(lines)


def _own_flags(family: Family) -> set[str]:
    """Returns the flags that variants of a family set, and the options of their self-attention."""
    from ..models.transformer.axes import SELF_ATTENTION_KINDS

    own: set[str] = set()
    for settings in family.variants.values():
        own.update(settings)
        for value in settings.values():
            own.update(SELF_ATTENTION_KINDS.get(value, {}).values())
    return {flag_name(setting) for setting in own}


def _flag(flag: Flag) -> str:
    about = f"{flag.about}. {flag.choices}; default {flag.default or 'none'}"
    indent = " " * 6
    text = textwrap.fill(about, WIDTH, initial_indent=indent, subsequent_indent=indent)
    return f"{f'  {flag.name} {flag.here}'.rstrip()}\n{text}"
