"""Parts of an item that can be requested separately: named parts, rows or cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .schema import SCORES, Entry, Part, State
from .yaml_node import Node

STATE = ("state", "needs", "by")
_PART = ("name", "shows", "rows", "columns", *STATE)
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


def state_of(*nodes: Node) -> State:
    """Returns the state of the first that has one.

    Raises:
        UserError: none has, or one has two
    """
    for node in nodes:
        found = [key for key in STATE[:-1] if key in node.values]
        if len(found) > 1:
            raise node.problem(f"{' and '.join(found)}: only one of them can be")
        if found == ["state"]:
            return State(node.choice("state", ("run", "reported", "drawing")))
        if found:
            return State(found[0], node.text(found[0]))
    raise nodes[-1].problem(f"one of {', '.join(STATE[:-1])} has to be there")


def parts_of(
    item: Node, columns: Mapping[str, Node], rows: Mapping[str, Node], entries: tuple[Entry, ...]
) -> Iterator[Part]:
    """Yields an item's named parts, then one part for each remaining row.

    With ``split: cell``, each remaining cell is a part. Other authors' systems are one part.

    Raises:
        UserError: a part names an unknown row or column
    """
    named: list[tuple[Node, list[Entry]]] = []
    for node in item.nodes("parts", _PART, "name"):
        node.refuse_unknown("rows", node.texts("rows"), rows)
        node.refuse_unknown("columns", node.texts("columns"), columns)
        named.append((node, _picked(node, entries)))
    taken = {id(entry) for _, picked in named for entry in picked}
    taken_rows = {row for node, _ in named for row in node.texts("rows")}
    free = [entry for entry in entries if id(entry) not in taken]
    others = [e for e in free if e.system.other and not set(STATE) & set(rows[e.row].values)]

    by_cell = item.choice("split", ("row", "cell"), "row") == "cell"
    for label, row in rows.items():
        own = [entry for entry in free if entry.row == label and entry not in others]
        if by_cell:
            for entry in own:
                nodes = row, columns[entry.column], item
                yield _part(f"{label}, {entry.column}", nodes, [entry])
        elif own or (not any(entry.row == label for entry in entries) and label not in taken_rows):
            yield _part(label, (row, item), own)
    for node, picked in named:
        yield _part(node.text("name"), (node, item), picked, node.text("shows", ""))
    if others:
        reported = Node({"state": "reported"}, item.where)
        yield _part("other systems", (reported, item), others)


def _picked(node: Node, entries: tuple[Entry, ...]) -> list[Entry]:
    """Returns the entries in a part's rows and columns; none for a part without both."""
    rows, columns = node.texts("rows"), node.texts("columns")
    if not rows and not columns:
        return []
    return [
        entry
        for entry in entries
        if (not rows or entry.row in rows) and (not columns or entry.column in columns)
    ]


def _part(name: str, nodes: tuple[Node, ...], entries: list[Entry], shows: str = "") -> Part:
    said = next((node.text("by") for node in nodes if "by" in node.values), None)
    by = said or _BY.get(entries[0].measure if entries else "bleu", "score")
    return Part(name, shows, state_of(*nodes), by, tuple(entries))
