"""``dc-nmt params``: prints the parameter counts of models beside the published numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..errors import UsageError, check_architectures
from ..table import format_table
from .parser import Parser, add_json, number, print_json

if TYPE_CHECKING:
    from ..papers.parameter_counts import CountRow


def main(argv: Sequence[str]) -> int:
    """Prints the table; returns exit status 1 for a count that differs from the published one."""
    parser = Parser(
        prog="dc-nmt params",
        usage="dc-nmt params [ARCH ...] [options] [flags of the model]",
        description=__doc__,
        epilog=("All other flags go to the model of every ARCH, such as --source-layers 3."),
    )
    parser.add_argument(
        "arch", nargs="*", help="architectures; default: all, with the published counts"
    )
    parser.add_argument(
        "--vocabulary", type=number(1), default=32_000, help="number of types in the dictionary"
    )
    parser.add_argument(
        "--by-part", action="store_true", help="print the count of each part of one architecture"
    )
    parser.add_argument(
        "--item", metavar="ITEM",
        help="print the published counts of one table alone, such as 'thesis, Table 3.2'",
    )  # fmt: skip
    add_json(parser)
    args, words = parser.parse_with_flags(argv)

    from ..models.presets import architectures
    from ..papers.described_run import model_flags

    known = architectures()
    check_architectures(args.arch, known)
    if args.item and (args.arch or args.by_part):
        raise UsageError("--item: prints the counts of a table; leave out ARCH and --by-part")
    if words and not args.arch:
        raise UsageError(f"{words[0]}: flags of a model need an ARCH before them")
    if args.by_part and not args.arch:
        args.arch = ["transformer_standard"]
    flags = {name: model_flags(name, words) for name in args.arch or known}
    if args.by_part:
        return _print_parts(flags, args.vocabulary, args.json)

    from ..papers.parameter_counts import preset_row, published_items, published_rows

    if args.item:
        return _print_rows(_rows_of(args.item), args.json)
    rows = [preset_row(name, own, args.vocabulary) for name, own in flags.items()]
    if not args.arch:
        rows = [row for item in published_items() for row in published_rows(*item)] + rows
    return _print_rows(rows, args.json)


def _rows_of(name: str) -> list[CountRow]:
    """Returns the counts of one table.

    Raises:
        UserError: no such table, or a table without counts
    """
    from ..papers.parameter_counts import published_items, published_rows
    from ..papers.register import find_item

    item = find_item(name)
    place = f"{item.document}, {item.name}"
    found = dict(published_items())
    if place not in found:
        raise UsageError(f"--item: {place} has no parameter counts; {', '.join(found)} have")
    return published_rows(place, found[place])


def _print_rows(rows: Sequence[CountRow], as_json: bool) -> int:
    if as_json:
        print_json([asdict(row) for row in rows])
    else:
        print(_as_text(rows))
    return 1 if any(row.within is False for row in rows) else 0


def _print_parts(archs: Mapping[str, Mapping[str, Any]], vocabulary: int, as_json: bool) -> int:
    from ..models.count import breakdown

    parts = {}
    for arch, flags in archs.items():
        entries = breakdown(arch, vocabulary, flags)
        parts[arch] = [*entries, ("total", sum(number for _, number in entries))]
    if as_json:
        print_json(parts)
        return 0
    for arch, entries in parts.items():
        table = [[name, f"{number:,}"] for name, number in entries]
        print(format_table([arch, "parameters"], table))
    return 0


def _as_text(rows: Sequence[CountRow]) -> str:
    blocks = []
    for source in dict.fromkeys(row.table for row in rows):
        lines = [
            [
                row.name,
                f"{row.vocabulary:,}",
                f"{row.built:.3f}",
                "" if row.published is None else f"{row.published:g}",
                "" if row.difference is None else f"{100 * row.difference:+.2f}%",
                {None: "", True: "ok", False: "NOT MET"}[row.within],
                row.note,
            ]
            for row in rows
            if row.table == source
        ]
        header = ["", "vocabulary", "built (M)", "published (M)", "difference", "", ""]
        blocks.append(f"{source}\n{format_table(header, lines)}")
    return "\n\n".join(blocks)
