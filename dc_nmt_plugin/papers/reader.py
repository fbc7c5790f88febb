"""Reads a file of published numbers into a :class:`Document`; refuses unknown keys.

A setting of an entry is written once: at its item, column, row or cell. Later ones override earlier
ones. ``on: NAME`` stands for a block of the file's ``tasks``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import UserError
from .effective_settings import DECODING, TRAINING, flag_types, model_settings, typed
from .parts import STATE, parts_of, state_of
from .schema import MEASURES, SCORES, SUBSETS, TASKS, Document, Entry, FixedTraining, Item, System
from .yaml_node import Node, read_yaml

_TASK = ("task", "direction", "subset", "set", "size", "training", "decoding", "score")
_FIXES = (*_TASK, "on", "system", "other", "flags", "part", "measure", "of", "against")
_CELL = ("value", "difference", "p", "text", "read", "absent", "note", *_FIXES)
_ROW = ("label", "values", "value", "absent", "note", *STATE, *_FIXES)
_ITEM = (
    *("name", "title", "place", "baseline", "columns", "rows", "parts", "split", "absent", "note"),
    *(*STATE, *_FIXES),
)
_FILE = ("title", "cites", "training_settings", "tasks", "systems", "items")


def read_file(path: Path) -> Document:
    """Returns a document from its file.

    Raises:
        UserError: a key, architecture, setting, task or measure that is unknown, or something that
            is missing, with file and item
    """
    return _Reader(path).document()


class _Reader:
    def __init__(self, path: Path) -> None:
        self.file = read_yaml(path, _FILE)
        self.name = path.stem
        self.training_settings = {
            name: FixedTraining(name, node.text("source"), _typed(node, "fixed", TRAINING))
            for name, node in self.file.named("training_settings", ("source", "fixed")).items()
        }
        self.tasks = self.file.named("tasks", _TASK)
        self.systems = self.file.named("systems", ("arch", "flags"))

    def document(self) -> Document:
        items = tuple(self._item(node) for node in self.file.nodes("items", _ITEM, "name"))
        self.file.refuse_twice("item", [item.name for item in items])
        title, cites = self.file.text("title"), self.file.text("cites")
        return Document(self.name, title, cites, self.training_settings, items)

    def _item(self, node: Node) -> Item:
        columns = node.named("columns", (*STATE, *_FIXES)) or {"": Node({}, node.where)}
        labels = [row.text("label") for row in node.nodes("rows", _ROW, "label")]
        node.refuse_twice("row", labels)
        rows = dict(zip(labels, node.nodes("rows", _ROW, "label"), strict=True))
        baseline = node.text("baseline", "")
        node.refuse_unknown("baseline", [baseline] if baseline else [], rows)
        entries = tuple(
            self._entry((node, columns[name], row, cell), label, name, rows)
            for label, row in rows.items()
            for name, cell in _cells(node, columns, row)
        )
        return Item(
            document=self.name,
            name=node.text("name"),
            title=node.text("title"),
            place=node.text("place"),
            state=state_of(node),
            baseline=baseline,
            rows=tuple(labels),
            columns=tuple(name for name in columns if name),
            parts=tuple(parts_of(node, columns, rows, entries)),
            entries=entries,
            note=node.text("note", ""),
        )

    def _entry(
        self, layers: tuple[Node, ...], label: str, column: str, rows: Iterable[str]
    ) -> Entry:
        item, _, row, cell = layers
        fixed = self._fixed(layers)
        system = self._system(fixed)
        measure = fixed.choice("measure", ("score", *MEASURES), "score")
        if measure == "score":
            measure = "bleu" if system.other else fixed.choice("score", SCORES)
        task = fixed.choice("task", TASKS) if "task" in fixed.values else ""
        baseline = item.text("baseline", "")
        against = fixed.text("against", "" if baseline == label else baseline)
        fixed.refuse_unknown("against", [against] if against else [], [*rows, *self.systems])
        entry = Entry(
            document=self.name,
            item=item.text("name"),
            row=label,
            column=column,
            system=system,
            measure="bleu" if system.other and measure in SCORES else measure,
            task=task,
            direction=fixed.choice("direction", TASKS[task]) if task else "",
            subset=fixed.choice("subset", SUBSETS) if "subset" in fixed.values else "",
            set=fixed.text("set", ""),
            training=self._training(fixed),
            part=fixed.text("part", "main"),
            decoding=_typed(fixed, "decoding", DECODING),
            of=fixed.text("of", ""),
            value=cell.number("value"),
            difference=cell.number("difference"),
            p=cell.number("p"),
            against=against,
            text=cell.text("text", ""),
            read=cell.choice("read", ("table", "prose"), "table"),
            absent=cell.text("absent", ""),
            note="; ".join(filter(None, (row.text("note", ""), cell.text("note", "")))),
        )
        _check(fixed, entry)
        return entry

    def _fixed(self, layers: tuple[Node, ...]) -> Node:
        """Merges the settings of item, column, row and cell; later ones override."""
        merged: dict[str, Any] = {}
        for layer in layers:
            own = {key: value for key, value in layer.values.items() if key in _FIXES}
            if "on" in own:
                block = layer.choice("on", self.tasks)
                own = {**self.tasks[block].values, **own}
            for key in ("flags", "decoding"):
                if key in own:
                    own[key] = {**merged.get(key, {}), **Node(own[key], layer.where).values}
            for key, instead in (("system", "other"), ("other", "system")):
                if key in own:
                    merged.pop(instead, None)
            merged.update(own)
        return Node(merged, layers[-1].where, _FIXES)

    def _system(self, fixed: Node) -> System:
        if "other" in fixed.values:
            return System(fixed.text("other"), other=fixed.text("other"))
        name = fixed.choice("system", self.systems)
        node = self.systems[name]
        arch = "_".join(filter(None, (node.text("arch"), fixed.text("size", ""))))
        try:
            types = flag_types(arch)
            flags = {**_typed(node, "flags", types), **_typed(fixed, "flags", types)}
            _check_system(arch, tuple(sorted(flags.items())))
        except UserError as error:
            raise fixed.problem(f"system {name}: {error}") from error
        return System(name, arch, flags)

    def _training(self, fixed: Node) -> FixedTraining | None:
        if "training" not in fixed.values:
            return None
        return self.training_settings[fixed.choice("training", self.training_settings)]


@cache
def _check_system(arch: str, flags: tuple[tuple[str, Any], ...]) -> None:
    model_settings(arch, dict(flags))


def _cells(item: Node, columns: Mapping[str, Node], row: Node) -> Iterator[tuple[str, Node]]:
    """Yields a row's cells by column; numbers shown only in a picture have no value."""
    cells = Node(row.values.get("values", {}), f"{row.where}, values", columns).values
    if "value" in row.values:
        if len(columns) > 1:
            raise row.problem("value: which column? Write values: {COLUMN: …}")
        cells[next(iter(columns))] = row.values["value"]
    absent = row.text("absent", item.text("absent", ""))
    for name in columns:
        where = f"{row.where}, {name}" if name else row.where
        if name in cells or absent:
            cell = cells.get(name, {"absent": absent})
            values = cell if isinstance(cell, Mapping) else {"value": cell}
            yield name, Node(values, where, _CELL)


def _typed(node: Node, key: str, types: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in Node(node.values.get(key, {}), f"{node.where}, {key}").values.items():
        try:
            found[name] = typed(name, value, types)
        except UserError as error:
            raise node.problem(f"{key}: {error}") from error
    return found


def _check(node: Node, entry: Entry) -> None:
    """Checks that an entry has everything that its measure depends on."""
    if entry.value is None and entry.difference is None and not (entry.text or entry.absent):
        raise node.problem("neither value, difference nor text, and no reason why (absent)")
    if entry.p is not None and not 0 < entry.p < 1:
        raise node.problem(f"p: {entry.p} is no probability")
    if not re.fullmatch(r"main|aux:\d+", entry.part):
        raise node.problem(f"part: {entry.part!r} is neither main nor aux:LAYER")
    if entry.system.other:
        return
    for what in MEASURES[entry.measure].fixed_by:
        if what not in ("model", "part", "decoding") and not getattr(entry, what):
            raise node.problem(f"{what} is missing; {entry.measure} depends on it")
