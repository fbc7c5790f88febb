"""What git and ruff leave out: the same files in a clone and in a ZIP of the project."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = "benchmarks dc_nmt_plugin docs examples hydra_plugins requirements scripts tests"


def files():
    """Returns the project's files, but caches."""
    found = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in (".ci", ".github", *FOLDERS.split()):
        found += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    names = [path.relative_to(ROOT) for path in found]
    return [str(name) for name in names if "cache" not in str(name.parent)]


@pytest.mark.skipif(not shutil.which("git"), reason="git is missing")
def test_git_ignores_none_of_them(tmp_path):
    """A repository of its own asks, because a ZIP has none."""
    environment = {**os.environ, "GIT_DIR": str(tmp_path), "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", "init", "--quiet"], env=environment, check=True)
    asked = ["git", "--work-tree", str(ROOT), "check-ignore", "--no-index", "--stdin"]
    done = subprocess.run(
        asked, env=environment, cwd=ROOT, input="\n".join(files()), capture_output=True, text=True
    )
    if done.returncode not in (0, 1):  # some of them are ignored; none
        pytest.skip(f"git is too old: {done.stderr}")
    assert done.stdout == ""


def test_ruff_checks_every_python_file():
    words = [sys.executable, "-m", "ruff", "check", "--show-files", "."]
    shown = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    ours = {str(ROOT / name) for name in files() if name.endswith((".py", ".ipynb"))}
    assert {line for line in shown.splitlines() if line.endswith((".py", ".ipynb"))} == ours
