"""What pages take from the package is written into them, and up to date."""

from __future__ import annotations

import subprocess
import sys

from commands import ROOT

SCRIPT = ROOT / "scripts/site/pages.py"
HELP = ROOT / "docs/reference/commands.md"


def pages(*words):
    command = [sys.executable, str(SCRIPT), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_page_shows_the_code_as_it_is():
    # argparse of Python 3.13 prints help in another form
    known = [HELP] if sys.version_info >= (3, 13) else []
    done = pages("--check", *(page for page in (ROOT / "docs").rglob("*.md") if page not in known))
    assert done.returncode == 0, done.stderr
    assert "<!-- insert commands -->" in HELP.read_text("utf-8")


def test_a_page_that_is_not_up_to_date_is_named_and_written(tmp_path):
    page = tmp_path / "page.md"
    start, end = "<!-- insert code laboratory/table.py::markdown_table -->", "<!-- /insert -->"
    page.write_text(f"Before.\n\n{start}\nold\n{end}\n\nAfter.\n", "utf-8")
    done = pages("--check", page)
    assert done.returncode == 1 and f"{page}: is not up to date" in done.stderr
    assert "old" in page.read_text("utf-8")
    assert pages(page).returncode == 0
    before, code, after = page.read_text("utf-8").split("<!--")
    assert before == "Before.\n\n" and after == " /insert -->\n\nAfter.\n"
    assert "[laboratory/table.py, markdown_table](" in code and "```python\n" in code
    assert "old" not in code


def test_an_insertion_that_cannot_be_made_is_named(tmp_path):
    page = tmp_path / "page.md"
    for start, reason in (
        ("<!-- insert code laboratory/table.py::nothing -->", "laboratory/table.py has no nothing"),
        ("<!-- insert nothing -->", "there is code, published"),
    ):
        page.write_text(f"{start}\n<!-- /insert -->\n", "utf-8")
        done = pages(page)
        assert done.returncode == 1 and reason in done.stderr and "Traceback" not in done.stderr
    page.write_text("<!-- insert kinds -->\n", "utf-8")
    assert "an insertion has no end" in pages(page).stderr
