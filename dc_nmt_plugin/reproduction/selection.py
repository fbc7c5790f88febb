"""The entries and parts of an item that are chosen, and those that cannot be planned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import UserError, check_choices
from ..papers.register import find_item
from ..papers.schema import MEASURES, SCORES, Entry, Item, Part
from .jobs import Options
from .obstacles import obstacle
from .producers import POINT
from .system import has_recipe


def drawn(item: Item) -> Item:
    """Returns the item that has a figure's numbers: itself, or another one of its document."""
    return find_item(f"{item.document}, {item.drawn_from}") if item.drawn_from else item


def entries_of(item: Item, rows: Sequence[str] = (), options: Options | None = None) -> list[Entry]:
    """Returns the entries of an item that runs can give.

    Args:
        rows: names of rows or parts; none for all
        options: of the plan; None: of runs that are there already

    Raises:
        UserError: no such row, or nothing of the item can be run
    """
    source, chosen = drawn(item), _chosen(item, rows)
    blocked = _blocked(item, chosen, options)
    reasons = {id(entry): reason for part, reason in blocked for entry in part.entries}
    found = [entry for entry in chosen if id(entry) not in reasons and _is_known(entry)]
    if not found:
        why = [reasons[id(e)] for e in (chosen or source.entries) if id(e) in reasons]
        why += [obstacle(part, Options()) for part in source.parts]
        needs = next((f"needs {reason}" for reason in why if reason), "")
        reason = needs or "nothing of it is trained here"
        raise UserError(f"{item.full_name}: cannot be run: {reason}")
    return found


def left_out(item: Item, rows: Sequence[str], options: Options) -> dict[str, str]:
    """Returns the chosen parts that a plan leaves out, and why.

    Args:
        rows: names of rows or parts; none for all

    Raises:
        UserError: no such row
    """
    blocked = _blocked(item, _chosen(item, rows), options)
    return {part.name: reason for part, reason in blocked}


def _chosen(item: Item, rows: Sequence[str]) -> list[Entry]:
    """Returns the entries of rows or parts that are numbers of this project's systems."""
    source = drawn(item)
    parts = {part.name: part for part in (*source.parts, *item.parts)}
    check_choices("--rows", rows, dict.fromkeys([*source.rows, *parts]))
    named = {id(entry) for row in rows if row in parts for entry in entries_shown(item, parts[row])}
    return [
        entry
        for entry in (_on_curves(item) if item.drawn_from else item.entries)
        if not entry.system.other
        and MEASURES[entry.measure].fixed_by
        and (not rows or entry.row in rows or id(entry) in named)
    ]


def _blocked(
    item: Item, chosen: Iterable[Entry], options: Options | None
) -> list[tuple[Part, str]]:
    """Returns the parts with chosen entries that cannot be planned, and why."""
    wanted = set(map(id, chosen))
    return [
        (part, reason)
        for part in drawn(item).parts
        if not wanted.isdisjoint(map(id, part.entries)) and (reason := _obstacle(part, options))
    ]


def _obstacle(part: Part, options: Options | None) -> str:
    if options is None:
        return part.state.missing if part.state.kind == "needs" else ""
    return obstacle(part, options)


def _is_known(entry: Entry) -> bool:
    return entry.measure == "params" or has_recipe(entry)


def _on_curves(item: Item) -> list[Entry]:
    """Returns the entries of another item that a figure draws: points of curves, and the origin."""
    found = [entry for entry in drawn(item).entries if entry.measure in SCORES]
    return [e for e in found if e.row in item.origin or POINT.fullmatch(e.row)]


def entries_shown(item: Item, part: Part) -> list[Entry]:
    """Returns the entries of a part; of a mark or a curve without entries, those it is about."""
    if part.entries:
        return list(part.entries)
    if item.drawn_from:
        return _on_curves(item)
    ours = [entry for entry in item.entries if not entry.system.other]
    return [entry for entry in ours if entry.p is not None] or ours
