"""YAML and JSON files as structs: the value of each type, and the key of every error."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
import pytest

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.files import read_json
from dc_nmt_plugin.laboratory.typed_yaml import read_yaml


class Size(msgspec.Struct, kw_only=True):
    layers: int = 6
    heads: Annotated[int, msgspec.Meta(ge=1)] = 1
    dropout: float | None = None
    shared: bool = False
    kind: Literal["small", "big"] = "small"


class File(msgspec.Struct, kw_only=True):
    title: str
    sizes: dict[str, Size] = {}
    numbers: list[Decimal] = []
    flags: dict[str, str | None] | None = None
    pair: tuple[int, str] | None = None


TEXT = """title: two lines
  are one
sizes:
  base: {layers: 1_000, shared: true, dropout: null}
  tiny: {kind: big}
numbers: [28.30, 1]
flags: {lr: 1e-3, language: no, date: 2026-01-01, nothing: ~}
"""


def read(tmp_path, text):
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")
    return read_yaml(path, File)


def test_every_type(tmp_path):
    content = read(tmp_path, TEXT)
    assert content == File(
        title="two lines are one",
        sizes={"base": Size(layers=1000, shared=True), "tiny": Size(kind="big")},
        numbers=[Decimal("28.30"), Decimal(1)],
        flags={"lr": "1e-3", "language": "no", "date": "2026-01-01", "nothing": None},
    )
    assert str(content.numbers[0]) == "28.30"  # with its decimals


BAD = {
    "an unknown key": ("layers", "layer", "sizes.base.layer: .*Did you mean 'layers'"),
    "another type": ("1_000", "many", "sizes.base.layers: Expected `int`, not 'many'"),
    "no member": ("kind: big", "kind: huge", "sizes.tiny.kind: 'huge' is not one of small, big"),
    "too small": ("{kind: big}", "{heads: -1}", "sizes.tiny.heads: Expected `int` >= 1, not '-1'"),
    "no number": ("28.30", "28.3o", r"numbers\[0\]: Invalid decimal"),
    "a key twice": ("tiny:", "base:", "'base' occurs twice .*line 5"),
    "a missing key": ("title: two lines\n  are one\n", "", "missing required field `title`"),
    "an empty file": (TEXT, "", "is empty"),
}


@pytest.mark.parametrize(("old", "new", "message"), BAD.values(), ids=BAD)
def test_an_error_names_the_file_and_the_key(tmp_path, old, new, message):
    assert old in TEXT
    with pytest.raises(UserError) as error:
        read(tmp_path, TEXT.replace(old, new, 1))
    text = str(error.value)
    assert re.search(message, text) and text.startswith(str(tmp_path)) and "\n" not in text


def test_json_has_types_of_its_own(tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps({"title": "x", "pair": [1, "a"]}), encoding="utf-8")
    assert read_json(path, File).pair == (1, "a")
    path.write_text(json.dumps({"title": "x", "sizes": {"base": {"layers": "6"}}}))
    with pytest.raises(UserError, match=r"sizes.base.layers: Expected `int`, not '6'"):
        read_json(path, File)
    path.write_text('{"title": "x", "pair": [NaN, "a"]}')
    with pytest.raises(UserError, match="not JSON"):
        read_json(path, File)
