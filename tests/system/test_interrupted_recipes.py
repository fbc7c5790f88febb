"""A recipe that is killed, or whose disk is full, ends as an undisturbed one does."""

from __future__ import annotations

import fcntl
import re
import resource
import shutil

import forks
import pytest
import yaml
from helpers import toy_text
from leavings import differences

from dc_nmt_plugin import cli
from dc_nmt_plugin.laboratory.recipes import estimate
from dc_nmt_plugin.laboratory.recipes.new_recipe import NewOptions, make_recipe

UPDATES = 4
ARCH = "transformer_dc"
SIDE = " --{0}-layers 1 --{0}-attention-heads 2 --{0}-embed-dim 8 --{0}-ffn-embed-dim 8"
SMALL = "--num-workers 0 --cpu --optimizer adam --lr 1e-3 --share-all-embeddings"
SMALL += SIDE.format("encoder") + SIDE.format("decoder")
# torch and cat do not say which of them
NO_SPACE = "File too large|No space left on device|no space left"


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    """The folder of a small recipe that nobody has run; programs are forks of this process."""
    home = tmp_path_factory.mktemp("interrupted")
    for side, code in enumerate(("en", "de")):
        lines = [pair[side] for pair in toy_text("en", "de", 300)]
        (home / f"a.{code}").write_text("\n".join(lines) + "\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        forks.start_for_recipes(patch)
        options = NewOptions(home / "mine", [home / "a.en", home / "a.de"], archs=[ARCH], bpe=100)
        make_recipe(options)
        content = yaml.safe_load((home / "mine/recipe.yaml").read_text("utf-8"))
        content["settings"]["all"] |= {"flags": SMALL, "decode": "--beam 2 --max-len-b 12"}
        content["settings"]["all"] |= {"updates": UPDATES, "save_every": 1, "average": 2}
        (home / "mine/recipe.yaml").write_text(yaml.safe_dump(content), "utf-8")
        yield home / "mine"


def copied(recipe, folder):
    """A copy of the recipe, beside the same files."""
    shutil.copytree(recipe, folder / "mine")
    for path in recipe.parent.glob("a.*"):
        shutil.copy2(path, folder)
    return folder / "mine"


def begin(folder, limit=None):
    """``dc-nmt run`` in a group of processes of its own, which can be killed at once.

    Args:
        folder: of the recipe
        limit: bytes that a file may have
    """

    def call():
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return cli.main(["run", str(folder)])

    with open(folder.with_suffix(".log"), "a", encoding="utf-8") as log:
        return forks.Fork(call, log, log, group=True)


def good(folder):
    log = folder.with_suffix(".log")
    assert begin(folder).wait() == 0, log.read_text("utf-8")[-3000:]


@pytest.fixture(scope="module")
def unbroken(recipe, tmp_path_factory):
    folder = copied(recipe, tmp_path_factory.mktemp("unbroken"))
    good(folder)
    return folder


def kill_at(step, folder):
    """Kills a run, and everything that it started, soon after a step has begun."""
    log = folder.with_suffix(".log")
    log.unlink(missing_ok=True)
    run = begin(folder)
    code = None
    while code is None and step not in log.read_text("utf-8"):
        code = run.wait(0.02)
    code = run.wait(0.1) if code is None else code
    assert code is None, log.read_text("utf-8")[-3000:]
    run.kill_group()
    for path in folder.rglob(".lock"):  # until no killed process holds its locks any more
        with open(path, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)


def test_killed(recipe, unbroken, tmp_path):
    folder = copied(recipe, tmp_path)
    for step in ("learn and apply BPE", f"train {UPDATES} updates", "translate the test set"):
        kill_at(step, folder)
    good(folder)
    assert differences(folder, unbroken) == []


def test_a_grid_goes_on_after_a_failure_and_is_continued(unbroken, tmp_path, monkeypatch, capsys):
    """The first seed is finished; the folder of the second cannot be made."""
    folder = copied(unbroken, tmp_path)
    finished = next(folder.glob(f"{ARCH}*-s1"))
    second = finished.with_name(f"{finished.name[:-1]}2")
    second.write_text("a file\n")
    grid = ["run", str(folder), "--seeds", "2,1"]
    assert cli.main(grid) == 1
    output, errors = capsys.readouterr()
    assert f"1 of 2 runs failed:\n  {second.name}: " in errors and finished.name in output
    second.unlink()
    record = (finished / "run.json").read_bytes()
    assert cli.main(grid) == 0
    assert (finished / "run.json").read_bytes() == record, "it was done before"
    output = capsys.readouterr().out
    assert "standard deviation over the seeds" in output  # a slow machine has speeds after it

    # half a minute of a training, and hours for both runs
    for name, value in {"SECONDS": 0, "SLOW": 1, "TIMED": 1, "SAVED": 2}.items():
        monkeypatch.setattr(estimate, name, value)
    assert cli.main([*grid, "--estimate"]) == 0
    *_, system, both, left_out = capsys.readouterr().out.splitlines()
    seconds = (
        rf"{ARCH}: (\d+) seconds for {UPDATES} updates of [\d.e-]+ s, with 4 validations; by .*"
    )
    assert re.fullmatch(seconds, system), system
    assert both.startswith("2 runs, one after the other: ") and "not in it: preparing" in left_out
    assert not list(folder.glob(".estimate-*"))


# bytes that a file may have → the step that needs more
LIMITS = {8_000: "text of mine", 60_000: "train"}


def test_a_full_disk(recipe, unbroken, tmp_path):
    """A limit on the size of files stands in for it."""
    folder = copied(recipe, tmp_path)
    log = folder.with_suffix(".log")
    for limit, step in LIMITS.items():
        log.unlink(missing_ok=True)
        assert begin(folder, limit).wait() == 1
        lines = log.read_text().splitlines()
        assert step in [line for line in lines if line.startswith("[")][-1], lines
        message = rf"error: {re.escape(str(folder))}\S*: ({NO_SPACE}): make room"
        assert re.search(message, lines[-1]), lines
        assert not list(folder.rglob("*.part")) and not list(folder.rglob("*.tmp"))
    good(folder)
    assert differences(folder, unbroken) == []
