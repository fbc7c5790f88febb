"""The image's recipe names what is there; no engine builds it here."""

from __future__ import annotations

import re
import shlex
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
STEPS = [line.split(" ", 1) for line in TEXT.splitlines() if re.match("[A-Z]+ ", line)]


def ignored(path: str) -> bool:
    patterns = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    return any(fnmatch(path, pattern) for pattern in patterns if pattern[:1] not in ("#", "*"))


def test_what_steps_copy_and_read_is_there():
    copied = [shlex.split(words)[:-1] for step, words in STEPS if step == "COPY"]
    assert copied == [["requirements"], ["."]]
    read = [word for step, words in STEPS if step == "RUN"
            for word in re.findall(r"-[rc] (\S+)", words)]  # fmt: skip
    assert len(read) == 3
    for name in read:
        assert (ROOT / name).is_file() and name.startswith("requirements/")


def test_torch_is_the_one_of_the_tests():
    (torch,) = re.findall(r"^ARG TORCH=(\S+)$", TEXT, re.M)
    pinned = (ROOT / "requirements/torch.txt").read_text("utf-8")
    assert f"torch=={torch}" in pinned.splitlines()


@pytest.mark.parametrize(
    "name",
    ["pyproject.toml", "README.md", "dc_nmt_plugin", "dc_nmt_plugin_start.py", "hydra_plugins"],
)
def test_what_the_package_is_built_of_is_in_the_image(name):
    assert (ROOT / name).exists() and not ignored(name)


def test_what_git_ignores_in_the_root_is_not_in_the_image():
    lines = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    folders = [line.strip("/") for line in lines if line.endswith("/") or line.startswith("/")]
    assert len(folders) > 12
    for folder in folders:
        if not folder.startswith(("!", "*", "__")):
            assert ignored(folder.replace("*", "")), folder
