"""Turns a file of published numbers into a :class:`Document`; see :mod:`.written` for its form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..typed_files import read_yaml
from .derived import derived_of
from .document import Document
from .effective_settings import DECODING, TRAINING, flag_types, model_settings, typed
from .parts import parts_of, state_of
from .schema import MEASURES, SCORES, TASKS, Entry, FixedTraining, Item, System
from .written import Cell, Column, Located, Row, Settings, WrittenDocument, WrittenItem


def read_file(path: Path) -> Document:
    """Returns a document from its file.

    Raises:
        UserError: a key, architecture, setting, task or measure that is unknown, or something that
            is missing, with file and line
    """
    return _Reader(path.stem, read_yaml(path, WrittenDocument)).document()


class _Reader:
    def __init__(self, name: str, file: WrittenDocument) -> None:
        self.name, self.file = name, file
        self.training_settings = {
            name: FixedTraining(name, each.source, _typed(each, "fixed", each.fixed, TRAINING))
            for name, each in file.training_settings.items()
        }

    def document(self) -> Document:
        items = tuple(self._item(item) for item in self.file.items)
        names = {item.name for item in items}
        for written in self.file.items:
            if written.drawn_from:
                written.check_choice("drawn_from", written.drawn_from, names)
        _refuse_twice(self.file, "item", [item.name for item in items])
        derived = tuple(derived_of(self.file.derived, items))
        return Document(
            self.name, self.file.title, self.file.cites, self.training_settings, items, derived
        )  # fmt: skip

    def _item(self, item: WrittenItem) -> Item:
        columns = item.columns or {"": Column(where=item.where)}
        _refuse_twice(item, "row", [row.label for row in item.rows])
        rows = {row.label: row for row in item.rows}
        if item.baseline:
            item.check_choice("baseline", item.baseline, rows)
        entries = tuple(
            self._entry(item, columns[name], row, cell, name)
            for row in item.rows
            for name, cell in _cells(item, columns, row)
        )
        return Item(
            document=self.name,
            name=item.name,
            title=item.title,
            place=item.place,
            state=state_of(item),
            baseline=item.baseline,
            rows=tuple(rows),
            columns=tuple(name for name in columns if name),
            parts=tuple(parts_of(item, columns, rows, entries)),
            entries=entries,
            note=item.note,
            analysis=item.analysis,
            sources=tuple(item.sources),
            drawn_from=item.drawn_from,
            origin=item.origin,
        )

    def _entry(
        self, item: WrittenItem, column: Column, row: Row, cell: Cell, column_name: str
    ) -> Entry:
        fixed = self._merged(item, column, row, cell)
        system = self._system(fixed)
        measure = fixed.measure or "score"
        if measure == "score":
            measure = "bleu" if system.other else fixed.score or ""
            fixed.check_choice("score", measure, MEASURES)
        if fixed.task:
            fixed.check_choice("direction", fixed.direction, TASKS[fixed.task])
        against = fixed.against
        if against is None:
            against = "" if item.baseline == row.label else item.baseline
        if against:
            known = [*(each.label for each in item.rows), *self.file.systems]
            fixed.check_choice("against", against, known)
        entry = Entry(
            document=self.name,
            item=item.name,
            row=row.label,
            column=column_name,
            system=system,
            measure="bleu" if system.other and measure in SCORES else measure,
            task=fixed.task or "",
            direction=fixed.direction or "" if fixed.task else "",
            subset=fixed.subset or "",
            set=fixed.set or "",
            training=self._training(fixed),
            part=fixed.part or "main",
            decoding=_typed(fixed, "decoding", fixed.decoding, DECODING),
            of=fixed.of or "",
            value=cell.value,
            difference=cell.difference,
            p=cell.p,
            against=against,
            text=cell.text,
            read=cell.read,
            absent=cell.absent,
            note="; ".join(filter(None, (row.note, cell.note))),
        )
        _check(fixed, entry)
        return entry

    def _merged(self, *layers: Settings) -> Settings:
        """Merges the settings of item, column, row and cell; later ones override."""
        merged = Settings()
        for layer in layers:
            if layer.on:
                layer.check_choice("on", layer.on, self.file.tasks)
                block = self.file.tasks[layer.on]
                # a decoding of its own is instead of that of the block
                decoding = {} if layer.decoding else block.decoding
                merged = merged.overridden(replace(block, decoding=decoding))
            merged = merged.overridden(layer)
        return merged

    def _system(self, fixed: Settings) -> System:
        if fixed.other:
            return System(fixed.other, other=fixed.other)
        if fixed.system is None:
            raise fixed.problem("system: is missing")
        name = fixed.system
        fixed.check_choice("system", name, self.file.systems)
        system = self.file.systems[name]
        arch = "_".join(filter(None, (system.arch, fixed.size)))
        try:
            types = flag_types(arch)
            own = _typed(system, "flags", system.flags, types)
            flags = {**own, **_typed(fixed, "flags", fixed.flags, types)}
            model_settings(arch, flags)
        except UserError as error:
            raise fixed.problem(f"system {name}: {error}") from error
        return System(name, arch, flags)

    def _training(self, fixed: Settings) -> FixedTraining | None:
        if fixed.training is None:
            return None
        fixed.check_choice("training", fixed.training, self.training_settings)
        return self.training_settings[fixed.training]


def _cells(
    item: WrittenItem, columns: Mapping[str, Column], row: Row
) -> Iterator[tuple[str, Cell]]:
    """Yields a row's cells by column; numbers shown only in a picture have no value."""
    for name, cell in row.values.items():
        cell.check_choice("values", name, columns)
    cells = dict(row.values)
    if row.value is not None:
        if len(columns) > 1:
            raise row.problem("value: which column? Write values: {COLUMN: …}")
        cells[next(iter(columns))] = row.value
    absent = row.absent or item.absent
    for name in columns:
        if name in cells or absent:
            yield name, cells.get(name) or Cell(where=row.where, absent=absent)


def _typed(
    place: Located, key: str, written: Mapping[str, str], types: Mapping[str, Any]
) -> dict[str, Any]:
    try:
        return {name: typed(name, value, types) for name, value in written.items()}
    except UserError as error:
        raise place.problem(f"{key}: {error}") from error


def _refuse_twice(place: Located, what: str, names: Iterable[str]) -> None:
    seen = set[str]()
    for name in names:
        if name in seen:
            raise place.problem(f"{what} {name!r} occurs twice")
        seen.add(name)


def _check(place: Located, entry: Entry) -> None:
    """Checks that an entry has everything that its measure depends on."""
    if entry.value is None and entry.difference is None and not (entry.text or entry.absent):
        raise place.problem("neither value, difference nor text, and no reason why (absent)")
    if entry.p is not None and not 0 < entry.p < 1:
        raise place.problem(f"p: {entry.p} is no probability")
    if not re.fullmatch(r"main|aux:\d+", entry.part):
        raise place.problem(f"part: {entry.part!r} is neither main nor aux:LAYER")
    if entry.system.other:
        return
    for what in MEASURES[entry.measure].fixed_by:
        if what not in ("model", "part", "decoding") and not getattr(entry, what):
            raise place.problem(f"{what} is missing; {entry.measure} depends on it")
