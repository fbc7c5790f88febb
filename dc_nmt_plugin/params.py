"""``dc-nmt params``: parameter counts of built models beside the papers' numbers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from fairseq.data import Dictionary
from torch import nn

from .errors import UserError, choice_problem
from .models import presets
from .models.options import defaults, read_config
from .models.presets import PARAMETER_TABLES, ParameterTable
from .table import format_table

MILLION = 1_000_000


@dataclass(frozen=True)
class Row:
    """One count: millions of parameters built and published, their relative difference."""

    table: str
    name: str
    vocabulary: int
    built: float
    published: float | None = None
    difference: float | None = None
    within: bool | None = None
    note: str = ""


def dummy_dictionary(size: int) -> Dictionary:
    """A dictionary of `size` types, fairseq's special symbols included.

    Raises:
        UserError: too small to hold the special symbols
    """
    dictionary = Dictionary()
    if size < len(dictionary):
        raise UserError(f"vocabulary {size}: the least is {len(dictionary)}, the special symbols.")
    for number in range(size - len(dictionary)):
        dictionary.add_symbol(f"w{number}")
    return dictionary


def build(arch: str, settings: Mapping[str, Any], dictionary: Dictionary) -> nn.Module:
    """The model of an architecture with changed settings, without memory (meta device).

    Args:
        arch: name of an architecture
        settings: replace the architecture's own
        dictionary: of both languages
    """
    architecture = presets.architectures()[arch]
    model_class, config = presets.MODELS[architecture.model]
    values = {**defaults(config), **architecture.settings, **settings}
    task = argparse.Namespace(source_dictionary=dictionary, target_dictionary=dictionary)
    with torch.device("meta"):
        return model_class.build_model(
            read_config(argparse.Namespace(**values), config),
            task,
        )


def count(model: nn.Module) -> int:
    """Trained parameters, shared ones once."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def fitted_vocabulary(table: ParameterTable) -> int:
    """The vocabulary with which the table's baseline has the published size.

    Two builds give the slope: parameters grow linearly with the vocabulary.
    """
    few, more = 1_000, 2_000
    at_few, at_more = (
        count(build(table.arch, table.common, dummy_dictionary(size))) for size in (few, more)
    )
    slope = (at_more - at_few) / (more - few)
    return round(few + (table.baseline[1] * MILLION - at_few) / slope)


def published_rows(table: ParameterTable) -> list[Row]:
    """Every row of a published table, built with the vocabulary fitted to its baseline."""
    size = table.vocabulary or fitted_vocabulary(table)
    dictionary = dummy_dictionary(size)
    rows = []
    entries = {table.baseline[0]: ({}, table.baseline[1]), **table.rows}
    for name, (settings, published) in entries.items():
        built = count(build(table.arch, {**table.common, **settings}, dictionary)) / MILLION
        difference = built / published - 1
        rows.append(
            Row(
                table=table.source,
                name=name,
                vocabulary=size,
                built=round(built, 3),
                published=published,
                difference=round(difference, 5),
                within=abs(difference) <= table.exceptions.get(name, table.tolerance),
                note=table.notes.get(name, ""),
            )
        )
    return rows


def preset_row(arch: str, vocabulary: int) -> Row:
    """One architecture with a vocabulary of the user's."""
    built = count(build(arch, {}, dummy_dictionary(vocabulary))) / MILLION
    return Row(table="architectures", name=arch, vocabulary=vocabulary, built=round(built, 3))


def breakdown(arch: str, vocabulary: int) -> list[tuple[str, int]]:
    """Parameters by part of the model; a shared matrix counts where it is met first."""
    model = build(arch, {}, dummy_dictionary(vocabulary))
    parts: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        pieces = [piece for piece in name.split(".")[:-1] if not piece.isdigit()]
        part = ".".join(piece for piece in pieces[:4] if piece != "stack")
        parts[part] = parts.get(part, 0) + parameter.numel()
    return list(parts.items())


def main(argv: Sequence[str]) -> int:
    """Print the table; exit status 1 if a published number is not met."""
    parser = argparse.ArgumentParser(prog="dc-nmt params", description=__doc__)
    parser.add_argument("arch", nargs="*", help="architectures; without any: all, and the papers'")
    parser.add_argument("--vocabulary", type=int, default=32_000, help="types of the dictionary")
    parser.add_argument("--by-part", action="store_true", help="split one architecture's count")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)

    known = presets.architectures()
    problems = [choice_problem("architecture", name, known) for name in args.arch]
    if any(problems):
        raise UserError("\n".join(problem for problem in problems if problem))
    if args.by_part:
        return _print_parts(args.arch or ["transformer_standard"], args.vocabulary, args.json)

    rows = [preset_row(name, args.vocabulary) for name in (args.arch or known)]
    if not args.arch:
        rows = [row for table in PARAMETER_TABLES for row in published_rows(table)] + rows
    if args.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        print(_as_text(rows))
    return 1 if any(row.within is False for row in rows) else 0


def _print_parts(archs: Sequence[str], vocabulary: int, as_json: bool) -> int:
    parts = {arch: breakdown(arch, vocabulary) for arch in archs}
    if as_json:
        print(json.dumps(parts, indent=2))
        return 0
    for arch, entries in parts.items():
        total = sum(number for _, number in entries)
        table = [[name, f"{number:,}"] for name, number in [*entries, ("total", total)]]
        print(format_table([arch, "parameters"], table))
    return 0


def _as_text(rows: Sequence[Row]) -> str:
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
