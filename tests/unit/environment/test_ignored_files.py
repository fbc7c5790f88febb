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


@pytest.mark.skipif(not shutil.which("git"), reason="git is missing")
def test_a_clone_for_windows_has_the_line_ends_that_bash_reads(tmp_path):
    """``core.autocrlf``, as Git for Windows sets it, and the scripts called from WSL."""
    for name in (".gitattributes", "scripts/setup.sh"):
        (tmp_path / "ours" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / "ours" / name)
    identity = ["-c", "user.name=a", "-c", "user.email=a"]
    for words in (
        ["init", "--quiet", "ours"],
        ["-C", "ours", "add", "."],
        ["-C", "ours", *identity, "commit", "--quiet", "--message", "a"],
        ["-c", "core.autocrlf=true", "clone", "--quiet", "ours", "theirs"],
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    assert b"\r" not in (tmp_path / "theirs/scripts/setup.sh").read_bytes()


def test_ruff_checks_every_python_file():
    words = [sys.executable, "-m", "ruff", "check", "--show-files", "."]
    shown = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    ours = {str(ROOT / name) for name in files() if name.endswith((".py", ".ipynb"))}
    assert {line for line in shown.splitlines() if line.endswith((".py", ".ipynb"))} == ours
