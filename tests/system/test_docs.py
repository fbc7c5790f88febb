"""What ``docs/`` and README tell people to type works."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import torch
from commands import ROOT

DOCS = ROOT / "docs"


def test_python_blocks(monkeypatch):
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "python_api.md").read_text("utf-8"), re.S)
    names = {}
    for block in blocks:
        exec(block, names)
    assert names["found"].hypothesis == "Zwei junge Männer spielen Gitarre auf der Straße."
    heads = names["weights"].weights
    assert torch.allclose(heads.sum(-1), torch.ones(heads.shape[:2]), atol=1e-4)
    assert len(names["weights"].queries) == heads.size(1)
    assert names["loss"] < 0.3
    assert names["output"].shape == (8, 5, 32)
    assert 0 < names["score"] < 100


def test_the_package_is_light_and_shows_what_is_public():
    code = "import dc_nmt_plugin, sys; print('torch' in sys.modules, *dir(dc_nmt_plugin))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy, *names = shown.stdout.split()
    assert heavy == "False" and "load" in names
    import dc_nmt_plugin

    assert all(hasattr(dc_nmt_plugin, name) for name in names)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dc_nmt_plugin.nothing
