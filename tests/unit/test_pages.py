"""The pages that people read first: their length, and that what they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import dictionary

from dc_nmt_plugin.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += sorted((ROOT / "examples").rglob("README.md"))


@pytest.mark.parametrize(("name", "most"), [("README.md", 1800), ("CHANGELOG.md", 1200)])
def test_the_first_pages_stay_short(name: str, most: int) -> None:
    assert len((ROOT / name).read_text("utf-8").split()) <= most


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_scripts_and_links_of_a_page_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    code = re.findall(r"```.*?```|`[^`\n]+`", text, re.S)
    commands = {word for each in code for word in re.findall(r"\bdc-nmt ([a-z][\w-]*)", each)}
    assert commands <= {*COMMANDS, "COMMAND", "dc-nmt"}  # the last is the name of an image
    for script in {word for each in code for word in re.findall(r"(?<!/)\bscripts/\w+\.\w+", each)}:
        assert (ROOT / script).is_file(), script
    for link in re.findall(r"\]\(([^)#\s]+)", text):
        if not link.startswith(("http", "mailto")):
            assert (page.parent / link).exists(), link


def test_architectures_of_the_readme_are_registered() -> None:
    from dc_nmt_plugin.models.presets import architectures

    table = (ROOT / "README.md").read_text("utf-8").split("## Architectures")[1].split("\n## ")[0]
    named = set(re.findall(r"`((?:transformer|gru|lstm)_\w+)`", table))
    assert len(named) == 9
    assert named <= set(architectures())


def test_every_paper_of_the_readme_and_the_citation_file_is_in_the_bibliography() -> None:
    bibliography = (ROOT / "REFERENCES.bib").read_text("utf-8")
    for page in ("README.md", "CITATION.cff"):
        text = (ROOT / page).read_text("utf-8")
        sites = r"10\.\d{4,}/[^\s)\"]+|(?:arxiv\.org/abs|aclanthology\.org)/[\w.-]+"
        found = re.findall(sites, text)
        assert len(found) > 3
        for identifier in found:
            assert identifier in bibliography


def test_a_model_is_built_as_the_python_page_says(tmp_path, monkeypatch) -> None:
    page = (ROOT / "docs" / "python_api.md").read_text("utf-8")
    (code,) = [
        block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "build(cfg" in block
    ]
    (tmp_path / "captions/data/bin").mkdir(parents=True)
    dictionary().save(str(tmp_path / "captions/data/bin/dict.en.txt"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(code, "python_api.md", "exec"), names)
    model = names["model"]
    assert list(model.decoder.auxiliary) == ["1"]
    assert len(model.encoder.read_layers) == 6
