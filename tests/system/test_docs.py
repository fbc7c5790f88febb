"""What ``docs/`` and README tell people to type works."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import forks
import pytest
import torch
from commands import ROOT

from dc_nmt_plugin import cli
from dc_nmt_plugin.laboratory.recipes import new_recipe, new_settings
from scripts.toy_text import toy_pairs

DOCS = ROOT / "docs"


def test_python_blocks(monkeypatch):
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "python_api.md").read_text("utf-8"), re.S)
    names = {}
    for block in blocks:
        exec(block, names)
        if "optimizer" in block:
            assert names["loss"] < 0.3
    assert names["german"].hypothesis == "Zwei junge Männer spielen Gitarre auf der Straße."
    for lines in ("A dog runs.", iter(["A dog runs."])):  # no letters, and nothing lost
        assert [each.hypothesis for each in names["run"].translate(lines)] == ["Ein Hund rennt."]
    assert 0.1 < names["found"].mean["encoder"] < 0.6  # of the analysis
    heads = names["weights"].weights
    assert torch.allclose(heads.sum(-1), torch.ones(heads.shape[:2]), atol=1e-4)
    assert len(names["weights"].queries) == heads.size(1)
    assert names["output"].shape == names["context"].shape == (8, 5, 32)
    assert names["one_layer"].shape == (8, 7, 32)
    names["loss"].backward()
    assert all(p.grad is not None for p in names["model"].parameters())
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


def test_the_marked_block_of_the_readme(bare, tmp_path):
    """fairseq's commands, from the quickstart's pieces to BLEU, with fewer updates."""
    after = (ROOT / "README.md").read_text("utf-8").split("<!-- block:")[1]
    block = re.search(r"```\n(.*?)```", after, re.S)[1]
    for many, few in (
        ("--max-update 150", "--max-update 6"),
        ("-updates 10", "-updates 1"),
        ("_iwslt ", "_tiny "),
    ):
        assert many in block
        block = block.replace(many, few)
    pieces = tmp_path / "quickstart_out/en-de/data/bpe"
    pieces.mkdir(parents=True)
    (tmp_path / "dc_nmt_plugin").symlink_to(ROOT / "dc_nmt_plugin")
    for name, count, seed in (("train", 400, 1), ("valid", 4, 2), ("test", 4, 3)):
        for language, lines in zip(
            ("en", "de"), zip(*toy_pairs(count, seed), strict=True), strict=True
        ):
            (pieces / f"{name}.{language}").write_text("\n".join(lines) + "\n", "utf-8")
    for line in block.replace("\\\n", "").splitlines():
        program, *words = shlex.split(line)
        entry = forks.programs[program]
        code = f"import sys; from {entry.module} import {entry.attr} as main; sys.exit(main())"
        done = bare.run(code, *words, folder=tmp_path, path=[ROOT]).good()
    assert "Generate test with beam=5: BLEU4 = " in done.output
    assert sorted(path.name for path in (tmp_path / "toy-dc").glob("checkpoint_*_[2-6].pt")) == [
        f"checkpoint_1_{update}.pt" for update in range(2, 7)
    ]


def test_the_marked_blocks_of_the_next_steps(tmp_path, monkeypatch, capfd):
    """From text to a fine-tuned run and an ensemble in a table, with tiny models."""
    page = (DOCS / "next_steps.md").read_text("utf-8")
    blocks = re.findall(r"<!-- block: .*? -->\n\n```\n(.*?)```", page, re.S)
    assert len(blocks) == 2
    pairs = toy_pairs(460, 1)
    sets = {"general": pairs[:220], "valid": pairs[220:230], "test": pairs[230:250]}
    sets |= {"news": pairs[250:460], "mono": pairs[250:270]}
    for name, some in sets.items():
        for code, lines in zip(("en", "de"), zip(*some, strict=True), strict=True):
            (tmp_path / f"{name}.{code}").write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "mono.en").unlink()
    rows = map("\t".join, sets["general"])
    (tmp_path / "general.en-de.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    tiny = new_settings.Size(1e99, 300, 1, 16, 16, 2, 0.1, 2048, "1e-2", 40, "of a test")
    for module in (new_recipe, new_settings):
        monkeypatch.setattr(module, "SIZES", (tiny,))
    forks.start_for_recipes(monkeypatch)
    printed = {}
    for line in "".join(blocks).replace("\\\n", "").splitlines():
        command, _, file = line.partition(" > ")
        capfd.readouterr()
        assert cli.main(shlex.split(command)[1:]) == 0, capfd.readouterr().err
        printed[line] = capfd.readouterr().out
        if file:
            (tmp_path / file).write_text(printed[line], "utf-8")
    *_, table = (text for line, text in printed.items() if line.startswith("dc-nmt results"))
    rows = re.findall(r"^(\S+)-s1(, \S+)? +\d+\.\d\d", table, re.M)
    standard = "transformer_standard"
    ensemble = (f"general/{standard}", ", ensemble.transformer_dc_s1")
    others = [(f"news/{standard}", ""), (f"tagged/{standard}", "")]
    assert rows == [(f"general/{standard}", ""), ensemble, *others]
    sources = (tmp_path / "tagged/data/raw/tokenised/train.en").read_text("utf-8").splitlines()
    assert sum(line.startswith("<bt> ") for line in sources) == 20
