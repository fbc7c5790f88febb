"""The entries of an item that can be made again, and their baselines."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

import msgspec

from ..errors import UserError, check_choices
from .document import SCORES, YES, Entry, Item, Part
from .reader import find_item, read_document
from .systems import UNTRAINED, Training, has_run, training_of

# row of a point of a curve: "n = 3", or "S-Agg, n = 3"
POINT = re.compile(r"(?:(.*), )?(\w) = (\d+)")
# flags of `dc-nmt paper run` that a reason in the data can name
NEEDED = ("--any-counts", "--probing", "--trees")
_OF_RUNS = (*SCORES, "params", "train-steps", "decode-sentences", "decode-tokens")


def entries_of(item: Item, rows: Sequence[str], given: Collection[str]) -> list[Entry]:
    """Returns the entries of an item that runs can give.

    Args:
        rows: names of rows or parts; none for all
        given: flags of :data:`NEEDED` that the user gives

    Raises:
        UserError: no such row, or nothing of the item can be run
    """
    chosen = _chosen(item, rows)
    reasons = {
        entry.cell: reason
        for part, reason in _blocked(item, chosen, given)
        for entry in part.entries
    }
    found = [
        entry
        for entry in chosen
        if entry.cell not in reasons and (entry.measure == "params" or has_run(entry))
    ]
    if not found:
        why = [reasons[entry.cell] for entry in chosen if entry.cell in reasons]
        why += [part.reproducible for part in _source(item).parts if part.reproducible != YES]
        reason = why[0] if why else "nothing of it is trained here"
        raise UserError(f"{item.full_name}: cannot be run: {reason}")
    return found


def left_out(item: Item, rows: Sequence[str], given: Collection[str]) -> dict[str, str]:
    """Returns the chosen parts that a plan leaves out, with the reason."""
    blocked = _blocked(item, _chosen(item, rows), given)
    return {part.name: reason for part, reason in blocked}


def entries_shown(item: Item, part: Part) -> list[Entry]:
    """Returns the entries of a part; of a mark or a curve without entries, those it is about."""
    if part.entries:
        return list(part.entries)
    if item.drawn_from:
        return _points(item)
    ours = [entry for entry in item.entries if not entry.other]
    return [entry for entry in ours if entry.p is not None] or ours


def of_runs(entry: Entry) -> bool:
    """Returns True if every evaluation produces an entry's number."""
    return entry.measure in _OF_RUNS and has_run(entry) and not entry.of


def baseline(entry: Entry) -> Entry | None:
    """Returns the entry of the baseline, if runs can give it.

    It is a row of the item, or a system that has numbers elsewhere in the document. With a masked
    encoder layer, it is the same model without the mask.
    """
    if is_masked(entry):
        return msgspec.structs.replace(entry, decoding={})
    ours = [each for each in read_document(entry.document).entries if not each.other]
    place = (entry.item, entry.against, entry.column)
    found = [each for each in ours if (each.item, each.row, each.column) == place]
    found = found or [e for e in ours if e.system == entry.against and _is_comparable(e, entry)]
    # a system's rows may have flags on top of its own
    base = min(found, key=lambda each: len(each.flags), default=None)
    return None if base is entry else base


def is_masked(entry: Entry) -> bool:
    """Returns True if an encoder layer is masked."""
    return "mask_source_layers" in entry.decoding


def _is_comparable(one: Entry, other: Entry) -> bool:
    names = ("task", "subset", "training", "decoding")
    alike = all(getattr(one, name) == getattr(other, name) for name in names)
    return alike and one.measure in SCORES and one.part == "main"


def _source(item: Item) -> Item:
    """Returns the item that has a figure's numbers."""
    return find_item(f"{item.document}, {item.drawn_from}") if item.drawn_from else item


def _points(item: Item) -> list[Entry]:
    """Returns the entries that a figure draws from another item: points of curves, the origin."""
    scores = [entry for entry in _source(item).entries if entry.measure in SCORES]
    return [e for e in scores if e.row in item.origin or POINT.fullmatch(e.row)]


def _chosen(item: Item, rows: Sequence[str]) -> list[Entry]:
    source = _source(item)
    parts = {part.name: part for part in (*source.parts, *item.parts)}
    check_choices("--rows", rows, dict.fromkeys([*(row.label for row in source.rows), *parts]))
    named = {
        entry.cell for row in rows if row in parts for entry in entries_shown(item, parts[row])
    }
    entries = _points(item) if item.drawn_from else item.entries
    return [
        entry
        for entry in entries
        if entry.is_of_a_run and (not rows or entry.row in rows or entry.cell in named)
    ]


def _blocked(item: Item, chosen: Iterable[Entry], given: Collection[str]) -> list[tuple[Part, str]]:
    """Returns the parts with chosen entries that cannot be planned, with the reason."""
    wanted = {entry.cell for entry in chosen}
    found = []
    for part in _source(item).parts:
        reason = part.reproducible
        is_open = reason == YES or any(flag in reason for flag in given)
        if not is_open and not wanted.isdisjoint(entry.cell for entry in part.entries):
            found.append((part, reason))
    return found


def trainings_of(item: Item) -> list[Training]:
    """Returns the training runs of an item, each once."""
    entries = [entry for part in item.parts for entry in entries_shown(item, part)]
    needed = [entry for entry in entries if has_run(entry) and entry.measure not in UNTRAINED]
    return list(dict.fromkeys(map(training_of, needed)))
