"""The register: reading ``data/*.yaml``, and finding a document or an item in it.

What an entry fixes is written once where it holds: at its item, its column, its row or its cell,
each on top of the former; ``on: NAME`` stands for a block of the file's ``tasks``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import UserError, choice_problem
from .schema import MEASURES, SCORES, Document, Entry, Item, Part, State, System, Training
from .settings import DECODING, TRAINING, check_architecture, flag_types, model_settings, typed
from .yaml_node import Node, read_yaml

DATA = Path(__file__).parent / "data"
DOCUMENTS = ("dual-context", "context-aware", "cross-aggregation", "thesis", "residual-decoder")
# name of a recipe's folder → directions
TASKS: Mapping[str, tuple[str, ...]] = {
    "wmt14_en_de": ("en-de",),
    "wmt17_zh_en": ("zh-en",),
    "wmt13_es_en": ("es-en",),
    "un_en_zh": ("en-zh",),
    "iwslt14_es_en": ("es-en", "en-es"),
    "iwslt14_ro_en": ("ro-en", "en-ro"),
    "iwslt14_de_en": ("de-en",),
    "iwslt15_en_vi": ("en-vi", "vi-en"),
    "iwslt15_fr_en": ("fr-en", "en-fr"),
    "wikipedia": ("en",),
}
SUBSETS = ("test", "valid", "newstest2015", "newstest2016")

_TASK = ("task", "direction", "subset", "set", "size", "training", "decoding", "score")
_FIXES = (*_TASK, "on", "system", "other", "flags", "part", "measure", "of", "against")
_STATE = ("state", "partly", "needs", "by")
_CELL = ("value", "difference", "p", "text", "read", "note", *_FIXES)
_ROW = ("label", "values", "value", "absent", "note", *_STATE, *_FIXES)
_PART = ("name", "shows", "rows", "columns", *_STATE)
_ITEM = (
    *("name", "title", "place", "baseline", "columns", "rows", "parts", "split", "absent", "note"),
    *(*_STATE, *_FIXES),
)
_SYSTEM = ("arch", "flags", "readings")
_FILE = ("title", "cites", "trainings", "tasks", "systems", "items")
# what produces a number, where the item does not say it
_BY = {
    **dict.fromkeys(SCORES, "score"),
    **{"params": "params", "train-steps": "bench", "accuracy": "probing", "ranking": "ranking"},
    **{"decode-sentences": "bench", "decode-tokens": "bench", "perplexity": "language-model"},
}


def read_register() -> tuple[Document, ...]:
    """All five documents."""
    return tuple(read_document(name) for name in DOCUMENTS)


@cache
def read_document(name: str) -> Document:
    """A document of the register by its name, such as ``thesis``.

    Raises:
        UserError: no such document
    """
    problem = choice_problem("document", name, DOCUMENTS)
    if problem:
        raise UserError(problem)
    return read_file(DATA / f"{name}.yaml")


def find_item(name: str) -> Item:
    """An item by ``DOCUMENT, ITEM``, such as ``thesis, Table 3.4``.

    Raises:
        UserError: no such item, with the nearest
    """
    document, _, item = (part.strip() for part in name.partition(","))
    items = {found.name: found for found in read_document(document).items}
    wanted = re.sub(r"^(tab|fig)(le|ure)?\.? ", _long_name, item, flags=re.IGNORECASE)
    if wanted not in items:
        raise UserError(str(choice_problem(f"item of {document}", item, items)))
    return items[wanted]


def _long_name(match: re.Match[str]) -> str:
    return {"tab": "Table ", "fig": "Figure "}[match[1].lower()]


def read_file(path: Path) -> Document:
    """A document from its file.

    Raises:
        UserError: a key, architecture, setting, task or measure that is unknown, or something that
            is missing, with file and item
    """
    return _Reader(path).document()


class _Reader:
    def __init__(self, path: Path) -> None:
        self.file = read_yaml(path, _FILE)
        self.name = path.stem
        self.trainings = {
            name: self._training(name, node)
            for name, node in self.file.named("trainings", ("source", "fixed")).items()
        }
        self.tasks = self.file.named("tasks", _TASK)
        self.systems = self.file.named("systems", _SYSTEM)

    def document(self) -> Document:
        items = tuple(self._item(node) for node in self.file.nodes("items", _ITEM, "name"))
        _refuse_twice(self.file, "item", [item.name for item in items])
        return Document(
            self.name, self.file.text("title"), self.file.text("cites"), self.trainings, items
        )

    def _training(self, name: str, node: Node) -> Training:
        fixed = _typed(node, "fixed", TRAINING)
        return Training(name, node.text("source"), fixed)

    def _item(self, node: Node) -> Item:
        columns = node.named("columns", _FIXES) or {"": Node({}, node.where)}
        rows = node.nodes("rows", _ROW, "label")
        labels = [row.text("label") for row in rows]
        _refuse_twice(node, "row", labels)
        baseline = node.text("baseline", "")
        if baseline:
            _refuse_unknown(node, "baseline", [baseline], labels)
        state = _state(node, None)
        entries = tuple(
            entry for row in rows for entry in self._entries(node, columns, row, labels)
        )
        return Item(
            document=self.name,
            name=node.text("name"),
            title=node.text("title"),
            place=node.text("place"),
            state=state,
            baseline=baseline,
            rows=tuple(labels),
            columns=tuple(name for name in columns if name),
            parts=tuple(self._parts(node, rows, list(columns), entries, state)),
            entries=entries,
            note=node.text("note", ""),
        )

    def _entries(
        self, item: Node, columns: Mapping[str, Node], row: Node, labels: list[str]
    ) -> Iterable[Entry]:
        cells = dict(Node(row.values.get("values", {}), f"{row.where}, values", columns).values)
        if "value" in row.values:
            if len(columns) > 1:
                raise row.problem("value: which column? Write values: {COLUMN: …}")
            cells[next(iter(columns))] = row.values["value"]
        absent = row.text("absent", item.text("absent", ""))
        for name, column in columns.items():
            if name not in cells and not absent:
                continue
            where = f"{row.where}, {name}" if name else row.where
            cell = cells.get(name, {"absent": absent})
            cell = Node(
                cell if isinstance(cell, Mapping) else {"value": cell}, where, (*_CELL, "absent")
            )
            yield self._entry((item, column, row, cell), row, name, labels)

    def _entry(
        self, layers: tuple[Node, ...], row: Node, column: str, labels: list[str]
    ) -> Entry:
        cell = layers[-1]
        fixed = self._fixed(layers)
        system = self._system(fixed)
        measure = fixed.choice("measure", ("score", *MEASURES), "score")
        if system.other and measure in ("score", *SCORES):
            measure = "bleu"
        elif measure == "score":
            measure = fixed.choice("score", SCORES)
        task = fixed.choice("task", TASKS, "") if "task" in fixed.values else ""
        against = fixed.text("against", layers[0].text("baseline", ""))
        if against:
            _refuse_unknown(fixed, "against", [against], [*labels, *self.systems])
        numbers = {key: cell.number(key) for key in ("value", "difference", "p")}
        entry = Entry(
            document=self.name,
            item=layers[0].text("name"),
            row=row.text("label"),
            column=column,
            system=system,
            measure=measure,
            task=task,
            direction=fixed.choice("direction", TASKS[task]) if task else "",
            subset=fixed.choice("subset", SUBSETS) if task and "subset" in fixed.values else "",
            set=fixed.text("set", ""),
            training=self._training_of(fixed),
            part=fixed.text("part", "main"),
            decoding=_typed(fixed, "decoding", DECODING),
            of=fixed.text("of", ""),
            **numbers,
            against="" if against == row.text("label") else against,
            text=cell.text("text", ""),
            read=cell.choice("read", ("table", "prose"), "table"),
            absent=cell.text("absent", ""),
            note="; ".join(filter(None, (row.text("note", ""), cell.text("note", "")))),
        )
        _check(fixed, entry)
        return entry

    def _fixed(self, layers: tuple[Node, ...]) -> Node:
        """What item, column, row and cell say, the later ones on top."""
        merged: dict[str, Any] = {}
        for layer in layers:
            own = {key: value for key, value in layer.values.items() if key in _FIXES}
            block = own.pop("on", None)
            if block is not None:
                problem = choice_problem(f"{layer.where}: on", block, self.tasks)
                if problem:
                    raise UserError(problem)
                own = {**self.tasks[block].values, **own}
            for key in ("flags", "decoding"):
                if key in own:
                    own[key] = {**merged.get(key, {}), **Node(own[key], layer.where).values}
            if "system" in own:
                merged.pop("other", None)
            if "other" in own:
                merged.pop("system", None)
            merged.update(own)
        return Node(merged, layers[-1].where, _FIXES)

    def _system(self, fixed: Node) -> System:
        if "other" in fixed.values:
            return System(fixed.text("other"), other=fixed.text("other"))
        name = fixed.choice("system", self.systems)
        node = self.systems[name]
        arch = "_".join(filter(None, (node.text("arch"), fixed.text("size", ""))))
        try:
            check_architecture(arch)
            types = flag_types(arch)
            flags = {**_typed(node, "flags", types), **_typed(fixed, "flags", types)}
            readings = {
                key: tuple(typed(key, value, types) for value in values)
                for key, values in node.values.get("readings", {}).items()
            }
            model_settings(arch, flags)
        except UserError as error:
            raise fixed.problem(f"system {name}: {error}") from error
        return System(name, arch, flags, readings)

    def _training_of(self, fixed: Node) -> Training | None:
        if "training" not in fixed.values:
            return None
        return self.trainings[fixed.choice("training", self.trainings)]

    def _parts(
        self,
        item: Node,
        rows: list[Node],
        columns: list[str],
        entries: tuple[Entry, ...],
        state: State,
    ) -> Iterable[Part]:
        """Written parts, and of what they leave: each row, systems of other authors together."""
        labels = [row.text("label") for row in rows]
        written, claimed, claimed_rows = [], set(), set()
        for node in item.nodes("parts", _PART, "name"):
            _refuse_unknown(node, "rows", node.texts("rows"), labels)
            _refuse_unknown(node, "columns", node.texts("columns"), columns)
            picked = [
                entry
                for entry in entries
                if ("rows" in node.values or "columns" in node.values)
                and entry.row in (node.texts("rows") or labels)
                and entry.column in (node.texts("columns") or columns)
            ]
            claimed.update(map(id, picked))
            claimed_rows.update(node.texts("rows") if "columns" not in node.values else ())
            written.append(self._part(node, item, picked, state))
        free = [entry for entry in entries if id(entry) not in claimed]
        others = [entry for entry in free if entry.system.other and not _has_state(entry, rows)]
        split = item.choice("split", ("row", "cell"), "row") == "cell"
        for row in rows:
            label = row.text("label")
            own = [entry for entry in free if entry.row == label and entry not in others]
            groups = [[entry] for entry in own] if split else [own]
            for group in groups:
                if group or (
                    label not in claimed_rows and not any(entry.row == label for entry in entries)
                ):
                    name = f"{label}, {group[0].column}" if split and group else label
                    part = Node({"name": name}, row.where)
                    yield self._part(part, row, group, _state(row, state), item)
        yield from written
        if others:
            node = Node({"name": "other systems", "state": "reported"}, item.where)
            yield self._part(node, item, others, state)

    def _part(
        self,
        node: Node,
        parent: Node,
        entries: list[Entry],
        state: State,
        item: Node | None = None,
    ) -> Part:
        measure = entries[0].measure if entries else ""
        default = (item or parent).text("by", _BY.get(measure, "score"))
        return Part(
            name=node.text("name"),
            shows=node.text("shows", ""),
            state=_state(node, state),
            by=node.text("by", parent.text("by", default)),
            entries=tuple(entries),
        )


def _has_state(entry: Entry, rows: list[Node]) -> bool:
    row = next(row for row in rows if row.text("label") == entry.row)
    return any(key in row.values for key in _STATE)


def _state(node: Node, inherited: State | None) -> State:
    found = [key for key in ("state", "partly", "needs") if key in node.values]
    if len(found) > 1 or not (found or inherited):
        raise node.problem("one of state, partly and needs has to be there")
    if not found:
        assert inherited is not None
        return inherited
    if found[0] == "state":
        return State(node.choice("state", ("run", "reported", "drawing")))
    return State(found[0], node.text(found[0]))


def _typed(node: Node, key: str, types: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in Node(node.values.get(key, {}), f"{node.where}, {key}").values.items():
        try:
            found[name] = typed(name, value, types)
        except UserError as error:
            raise node.problem(f"{key}: {error}") from error
    return found


def _check(node: Node, entry: Entry) -> None:
    """Whether everything that its measure depends on is there."""
    if entry.value is None and entry.difference is None and not (entry.text or entry.absent):
        raise node.problem("neither value, difference nor text, and no reason why (absent)")
    if entry.p is not None and not Decimal(0) < entry.p < Decimal(1):
        raise node.problem(f"p: {entry.p} is no probability")
    if not re.fullmatch(r"main|aux:\d+", entry.part):
        raise node.problem(f"part: {entry.part!r} is neither main nor aux:LAYER")
    if entry.system.other:
        return
    for what in MEASURES[entry.measure].fixed_by:
        if what not in ("model", "part", "decoding") and not getattr(entry, what):
            raise node.problem(f"{what} is missing ({entry.measure} depends on it)")


def _refuse_unknown(node: Node, key: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        problem = choice_problem(f"{node.where}: {key}", name, known)
        if problem:
            raise UserError(problem)


def _refuse_twice(node: Node, what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise node.problem(f"{what} {name!r} is there twice")
