"""``dc-nmt arch-flags``: lists architectures, or the training command and flags of one."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..flags import as_flags, flag_name
from .parser import Parser

if TYPE_CHECKING:
    from ..models.presets import Family
    from ..recipes.architecture import Flag

WIDTH = 100
FOOT = """\
A size is appended to a name; a name without one has the published size. A variant with auxiliary
decoders has only the sizes with enough encoder layers. dc-nmt arch-flags ARCH prints a training
command and the flags of one name."""


def main(argv: Sequence[str]) -> int:
    """Prints the flags of one architecture, or lists all architectures."""
    parser = Parser(prog="dc-nmt arch-flags", description=__doc__)
    parser.add_argument("arch", nargs="?", help="architecture; without it, all are listed")
    parser.add_argument("--all", action="store_true", help="print all flags of the architecture")
    args = parser.parse_args(argv)
    if args.all and not args.arch:
        parser.error("--all goes with an architecture")

    from ..models.presets import FAMILIES, architectures
    from ..recipes.architecture import describe

    if args.arch is None:
        print("\n\n".join([*map(_family, FAMILIES), FOOT]))
        return 0
    found = describe(args.arch, str(Path(__file__).resolve().parents[1]))
    family = architectures()[args.arch].family
    print(textwrap.fill(f"{found.name}: {found.about}", WIDTH))
    if found.cites:
        print(f"Published: {found.cites}")
    print(f"\n{found.command}\n")
    print(textwrap.fill(f"Settings of this command: {found.source}", WIDTH))
    of_mechanism = _own_flags(family)
    own = [flag for flag in found.flags if flag.name in of_mechanism]
    others = [flag for flag in found.flags if flag not in own]
    if own:
        print("\nFlags of the mechanism, with the values of this name:")
        print("\n".join(map(_flag, own)))
    if args.all:
        print("\n".join(["\nAll other flags:", *map(_flag, others)]))
        return 0
    of_size = {flag_name(setting) for size in family.sizes.values() for setting in size}
    size = [f"{flag.name} {flag.here}" for flag in others if flag.name in of_size]
    if size:
        print("\n" + _filled(f"Size: {', '.join(size)}"))
    print(f"All flags: dc-nmt arch-flags {found.name} --all")
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
    value = flag.here or "(none)"
    return _filled(f"  {flag.name} {value}: {flag.about}. {flag.choices}")


def _filled(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent=" " * 6, break_on_hyphens=False)
