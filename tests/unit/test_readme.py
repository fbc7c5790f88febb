"""What the README shows as Python runs."""

from __future__ import annotations

import re
from pathlib import Path

from helpers import dictionary

README = Path(__file__).resolve().parents[2] / "README.md"


def test_a_model_is_built_as_the_readme_says(tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.S)
    (code,) = [block for block in blocks if "build(cfg" in block]
    (tmp_path / "DATA").mkdir()
    dictionary().save(str(tmp_path / "DATA" / "dict.en.txt"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    model = names["model"]
    assert list(model.decoder.auxiliary) == ["1"]
    assert len(model.encoder.read_layers) == 6
