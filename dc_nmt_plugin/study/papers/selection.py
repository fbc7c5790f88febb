"""The entries of an item that can be made again, and their baselines."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from ...errors import UserError, check_choices
from .document import SCORES, YES, Entry, Item
from .reader import read_document
from .systems import NeededTraining, has_run, training_of

# flags of `dc-nmt paper run` that a reason in the data can name
NEEDED = ("--any-counts", "--probing", "--trees")
_OF_RUNS = (*SCORES, "params", "train-steps", "decode-sentences", "decode-tokens")


def entries_of(item: Item, rows: Sequence[str], flags: Collection[str]) -> list[Entry]:
    """Returns the entries of an item that runs can give.

    Args:
        rows: names of rows and columns; none for all
        flags: of :data:`NEEDED`, as the user gives them

    Raises:
        UserError: no such row, or nothing of the item can be run
    """
    chosen = _chosen(item, rows)
    open_entries = [
        entry
        for entry in chosen
        if is_open(entry, flags) and (entry.measure == "params" or has_run(entry))
    ]
    if not open_entries:
        reasons = [known.reproducible for known in (*chosen, *item.entries, item)]
        blocked = [reason for reason in reasons if reason != YES]
        reason = blocked[0] if blocked else "nothing of it is trained here"
        raise UserError(f"{item.full_name}: cannot be run: {reason}")
    return open_entries


def left_out(item: Item, rows: Sequence[str], flags: Collection[str]) -> dict[str, str]:
    """Returns the rows, or cells of a row, that a plan leaves out, with the reason."""
    chosen = _chosen(item, rows)
    open_rows = {e.row for e in chosen if is_open(e, flags) and e.measure != "params"}
    reasons = {}
    for entry in chosen:
        if not is_open(entry, flags):
            name = f"{entry.row}, {entry.column}" if entry.row in open_rows else entry.row
            reasons[name] = entry.reproducible
    return reasons


def is_open(entry: Entry, flags: Collection[str]) -> bool:
    """Returns True if an entry is reproducible with the flags that the user gives."""
    return entry.reproducible == YES or any(flag in entry.reproducible for flag in flags)


def of_runs(entry: Entry) -> bool:
    """Returns True if every evaluation produces an entry's number."""
    return entry.measure in _OF_RUNS and has_run(entry) and not entry.of


def runs_of(item: Item) -> list[NeededTraining]:
    """Returns the training runs of an item, each once."""
    needed = [entry for entry in item.entries if has_run(entry) and entry.measure != "params"]
    return list(dict.fromkeys(map(training_of, needed)))


def baseline(entry: Entry) -> Entry | None:
    """Returns the entry of the baseline, if runs can give it.

    It is a row of the item, or a system that has numbers elsewhere in the document. With a masked
    encoder layer, it is the same model without the mask.
    """
    if "mask_source_layers" in entry.decoding:
        return msgspec.structs.replace(entry, decoding={})
    ours = [known for known in read_document(entry.document).entries if not known.other]
    cell = (entry.item, entry.against, entry.column)
    candidates = [known for known in ours if (known.item, known.row, known.column) == cell]
    if not candidates:
        candidates = [known for known in ours if _is_score_of(entry.against, known, entry)]
    # a system's rows may have flags on top of its own
    base = min(candidates, key=lambda candidate: len(candidate.flags), default=None)
    return None if base is entry else base


def _is_score_of(system: str, known: Entry, entry: Entry) -> bool:
    """Returns True for a score of a system, trained and decoded as that of `entry`."""
    names = ("task", "subset", "training", "decoding")
    alike = all(getattr(known, name) == getattr(entry, name) for name in names)
    return alike and known.system == system and known.measure in SCORES and known.part == "main"


def _chosen(item: Item, rows: Sequence[str]) -> list[Entry]:
    """Returns the entries of rows and columns that are measurements of this package's systems."""
    labels = [row.label for row in item.rows]
    check_choices("--rows", rows, [*labels, *item.columns])
    chosen_rows = [name for name in rows if name in labels] or labels
    chosen_columns = [name for name in rows if name in item.columns]
    chosen = []
    for entry in item.entries:
        in_columns = not chosen_columns or entry.column in chosen_columns
        if entry.is_of_a_run and entry.row in chosen_rows and in_columns:
            chosen.append(entry)
    return chosen
