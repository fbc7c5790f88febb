"""``dc-nmt paper run``: from made-up files to a table, also after it was killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dc_nmt_plugin.recipes.made_up import unchecked_recipes, write_files
from dc_nmt_plugin.recipes.recipe import load

ITEM = ["thesis, Table 4.6b", "--rows", "Baseline; MS-1", "--sample", "240", "--max-update", "12"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    recipes = unchecked_recipes(folder / "recipes")
    write_files(load("iwslt15_en_vi", recipes), folder / "files", pairs=240)
    return folder


def start(home, where, *words, **pipes):
    (home / where).mkdir(exist_ok=True)
    environment = {**os.environ, "DC_NMT_RECIPES": str(home / "recipes")}
    command = [sys.executable, "-m", "dc_nmt_plugin", "paper", *words]
    return subprocess.Popen(
        command, cwd=home / where, env=environment, text=True, start_new_session=True, **pipes
    )


def finish(home, where, *words):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = start(home, where, *words, **pipes)
    out, _ = process.communicate()
    assert process.returncode == 0, out
    return out


def numbers(home, where):
    """The table's numbers; speeds are not among them."""
    text = finish(home, where, "table", *ITEM[:-2], "--json")
    return json.loads(text[text.index("[\n") :])


def test_killed_in_the_middle_the_same_table_comes_out(home):
    run = ["run", *ITEM, "--raw", str(home / "files"), "--any-counts"]
    whole = finish(home, "whole", *run)
    assert "thesis, Table 4.6b" in whole and "[5/5] dc-nmt evaluate iwslt15_en_vi" in whole
    table = numbers(home, "whole")
    baseline, ours = table
    assert (baseline["row"], ours["row"]) == ("Baseline", "MS-1")
    assert (baseline["published"], ours["published"]) == ("30.58", "31.32")
    assert len(ours["ours"]) == 1 and ours["difference"] is not None and ours["p"] is not None

    broken = start(home, "broken", *run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    second = home / "broken/runs/iwslt15_en_vi-sample240/transformer_ms_aux_iwslt-s1/train.log"
    deadline = time.monotonic() + 600
    while not (second.is_file() and "train_inner" in second.read_text()):
        assert broken.poll() is None and time.monotonic() < deadline
        time.sleep(0.2)
    os.killpg(broken.pid, signal.SIGKILL)
    broken.wait()
    again = finish(home, "broken", *run)
    assert "text of iwslt15_en_vi: done before" in again
    assert "transformer_standard_iwslt: train 12 updates: done before" in again
    assert numbers(home, "broken") == table
    third = finish(home, "broken", *run)
    assert "train 12 updates: done before" in third and Path(second).is_file()
