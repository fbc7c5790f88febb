"""A recipe that breaks and is started again gives what one gives that nothing disturbed."""

from __future__ import annotations

import resource
import sys

import pytest
from commands import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import chaos

UPDATES = 4


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chaos") / "unbroken"
    chaos.good(chaos.begin(folder, UPDATES).wait(), folder)
    return folder


def test_killed(unbroken, tmp_path):
    """What scripts/chaos.sh does at random moments, at three that are chosen."""
    folder, log = tmp_path / "killed", tmp_path / "killed.log"
    for step in ("learn and apply BPE", f"train {UPDATES} updates", "translate the test set"):
        recipe = chaos.begin(folder, UPDATES)
        while recipe.wait(0.01) is None and step not in log.read_text():
            pass
        assert recipe.wait(0.1) is None, log.read_text()
        recipe.kill_group()
        assert step in log.read_text().splitlines()[-1]
    chaos.good(chaos.begin(folder, UPDATES).wait(), folder)
    assert chaos.differences(folder, unbroken) == []


# bytes that a file may have → the step that needs more, and what its sentence names
LIMITS = {
    9_000: ("make the en-de corpus", "en-de"),
    12_000: ("tokenise", "en-de"),
    20_000: ("learn and apply BPE", "en-de"),
    60_000: ("train", "transformer_dc"),
    100_000: ("translate", "transformer_dc"),
}


def test_a_full_disk(unbroken, tmp_path):
    """A limit on the size of files stands in for it."""
    folder, log = tmp_path / "full", tmp_path / "full.log"

    def limited(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return chaos.work(folder, UPDATES)

    for size, (step, place) in LIMITS.items():
        with open(log, "w", encoding="utf-8") as out:
            assert chaos.Fork(lambda size=size: limited(size), out, out, group=True).wait() == 1
        told = log.read_text().splitlines()
        assert step in [line for line in told if line.startswith("[")][-1], told
        assert told[-1].startswith("error: ") and place in told[-1], told
        assert sum("error" in line.lower() for line in told) == 1, told
        assert "File too large" in told[-1] and "make room" in told[-1]
        assert not list(folder.rglob("*.part")) and not list(folder.rglob("*.tmp"))
    chaos.good(chaos.begin(folder, UPDATES).wait(), folder)
    assert chaos.differences(folder, unbroken) == []
