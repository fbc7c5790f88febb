"""YAML files as dataclasses: what each type reads, and the line of every error."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal

import pytest

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.typed_files import read_yaml, set_values


@dataclass(kw_only=True)
class Number:
    value: Decimal | None = field(default=None, metadata={"alone": True})
    note: str = ""


@dataclass(kw_only=True)
class Size:
    where: str = ""
    name: str
    layers: int = 6
    dropout: float | None = None
    shared: bool = False
    kind: str = field(default="small", metadata={"choices": ("small", "big")})


@dataclass(kw_only=True)
class File:
    title: str
    sizes: dict[str, Size] = field(default_factory=dict)
    numbers: list[Number] = field(default_factory=list)
    flags: dict[str, str] | None = None


TEXT = """title: two lines
  are one
sizes:
  base: {layers: 1_000, shared: yes}
  none:
numbers: [28.30, {value: 1, note: 007}]
flags: {lr: 1e-3}
"""


def read(tmp_path, text):
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")
    return read_yaml(path, File)


def test_every_type(tmp_path):
    found = read(tmp_path, TEXT)
    where = f"{tmp_path / 'file.yaml'}, line"
    assert found == File(
        title="two lines are one",
        sizes={
            "base": Size(where=f"{where} 4", name="base", layers=1000, shared=True),
            "none": Size(where=f"{where} 5", name="none"),
        },
        numbers=[Number(value=Decimal("28.30")), Number(value=Decimal(1), note="007")],
        flags={"lr": "1e-3"},
    )
    assert str(found.numbers[0].value) == "28.30"  # with its decimals
    assert list(set_values(found.sizes["base"])) == ["where", "name", "layers", "shared"]


BAD = {
    "an unknown key": ("layers", "layer", "line 4: sizes.base.layer: .*Did you mean 'layers'"),
    "another type": ("1_000", "many", "line 4: sizes.base.layers: 'many' is no whole number"),
    "no switch": ("yes", "maybe", "line 4: sizes.base.shared: 'maybe' is neither true nor false"),
    "no choice": ("shared: yes", "kind: bigg", "line 4: sizes.base.kind: .*Did you mean 'big'"),
    "no number": ("28.30", "28.3o", "line 6: numbers.value: '28.3o' is no number"),
    "a key twice": ("none:", "base:", "line 5: sizes: 'base' occurs twice"),
    "no list": ("[28.30,", "{a:", "line 6: numbers: is not a list|cannot be read"),
    "no mapping": ("{lr: 1e-3}", "fast", "line 7: flags: is not a mapping"),
    "not one value": ("{lr: 1e-3}", "{lr: [1]}", "line 7: flags.lr: is not a single value"),
    "a name": ("{layers", "{name: x, layers", "line 4: sizes.base.name: 'name' is not one of"),
    "the place": ("{layers", "{where: x, layers", "line 4: sizes.base.where: 'where' is not one"),
    "a missing key": ("title: two lines\n  are one\n", "", "line 1: title: is missing"),
    "an empty file": (TEXT, "", "is empty"),
    "no YAML": ("{lr", "{lr: [", "cannot be read: .*line 7"),
}


@pytest.mark.parametrize(("old", "new", "message"), BAD.values(), ids=BAD)
def test_an_error_names_file_line_and_key(tmp_path, old, new, message):
    assert old in TEXT
    with pytest.raises(UserError) as error:
        read(tmp_path, TEXT.replace(old, new, 1))
    text = str(error.value)
    assert re.search(message, text) and text.startswith(str(tmp_path)) and "\n" not in text
