"""Parts of an item that can be requested separately: named parts, rows or cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .schema import SCORES, Entry, Part, State
from .written import Column, Group, Reachable, Row, WrittenItem

# producer of a measure, by default
_BY = {
    **dict.fromkeys((*SCORES, "bleu"), "score"),
    **dict.fromkeys(("train-steps", "train-words", "decode-sentences", "decode-tokens"), "bench"),
    "params": "params",
    "perplexity": "language-model",
    "accuracy": "probing",
    "ranking": "ranking",
    "setting": "settings",
}


def state_of(*places: Reachable) -> State:
    """Returns the state of the first that has one.

    Raises:
        UserError: none has, or one has two
    """
    for place in places:
        if place.state and place.needs:
            raise place.problem("state and needs: only one of them can be")
        if place.state:
            return State(place.state)
        if place.needs:
            return State("needs", place.needs)
    raise places[-1].problem("one of state, needs has to be there")


def parts_of(
    item: WrittenItem,
    columns: Mapping[str, Column],
    rows: Mapping[str, Row],
    entries: tuple[Entry, ...],
) -> Iterator[Part]:
    """Yields an item's named parts, then one part for each remaining row.

    With ``split: cell``, each remaining cell is a part. Other authors' systems are one part.

    Raises:
        UserError: a part names an unknown row or column
    """
    named: list[tuple[Group, list[Entry]]] = []
    for group in item.parts:
        for name in group.rows:
            group.check_choice("rows", name, rows)
        for name in group.columns:
            group.check_choice("columns", name, columns)
        named.append((group, _picked(group, entries)))
    taken = {id(entry) for _, picked in named for entry in picked}
    taken_rows = {name for group, _ in named for name in group.rows}
    free = [entry for entry in entries if id(entry) not in taken]
    others = [entry for entry in free if entry.system.other and not _says(rows[entry.row])]

    for label, row in rows.items():
        own = [entry for entry in free if entry.row == label and entry not in others]
        if item.split == "cell":
            for entry in own:
                name, places = f"{label}, {entry.column}", (row, columns[entry.column], item)
                yield _part(name, places, [entry])
        elif own or (not any(entry.row == label for entry in entries) and label not in taken_rows):
            yield _part(label, (row, item), own)
    for group, picked in named:
        yield _part(group.name, (group, item), picked, group.shows)
    if others:
        reported = Reachable(state="reported")
        yield _part("other systems", (reported, item), others)


def _says(row: Row) -> bool:
    return any((row.state, row.needs, row.by))


def _picked(group: Group, entries: tuple[Entry, ...]) -> list[Entry]:
    """Returns the entries in a part's rows and columns; none for a part without both."""
    if not group.rows and not group.columns:
        return []
    return [
        entry
        for entry in entries
        if (not group.rows or entry.row in group.rows)
        and (not group.columns or entry.column in group.columns)
    ]


def _part(name: str, places: tuple[Reachable, ...], entries: list[Entry], shows: str = "") -> Part:
    said = next((place.by for place in places if place.by), None)
    by = said or _BY.get(entries[0].measure if entries else "bleu", "score")
    return Part(name, shows, state_of(*places), by, tuple(entries))
