"""A recipe that breaks and is started again gives what one gives that nothing disturbed."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys

import pytest
from commands import PROGRAMS, ROOT, read_a_command_line
from helpers import few

from dc_nmt_plugin import cli

sys.path.insert(0, str(ROOT / "scripts"))
import chaos

UPDATES = 4
# torch and cat do not say which of them
NO_SPACE = "File too large|No space left on device|no space left"
LANGUAGES = "--source-lang en --target-lang de"


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    read_a_command_line()
    folder = tmp_path_factory.mktemp("chaos") / "unbroken"
    chaos.good(chaos.begin(folder, UPDATES).wait(), folder)
    return folder


def test_killed(unbroken, tmp_path):
    """What scripts/chaos.sh does at random moments, at three that are chosen."""
    steps = ("learn and apply BPE", f"train {UPDATES} updates", "translate the test set")
    done = chaos.killed(tmp_path / "killed", UPDATES, [([step], 0.1) for step in steps])
    assert all(step in said for step, said in zip(steps, done, strict=True))
    assert chaos.differences(tmp_path / "killed", unbroken) == []


def test_a_run_of_the_quickstart_translates(unbroken, capsys):
    """It has no recipe; its score has the tokenizer."""
    run, text = unbroken / "en-de/transformer_dc", unbroken / "en-de/corpus/test.en"
    assert cli.main(["translate", str(run), str(text)]) == 0
    assert capsys.readouterr().out == (run / "hypotheses.de").read_text("utf-8")


# bytes that a file may have → the step that needs more, and what its sentence names
LIMITS = {
    5_000: ("make the en-de corpus", "en-de"),
    10_000: ("tokenise", "en-de"),
    18_000: ("learn and apply BPE", "en-de"),
    60_000: ("train", "transformer_dc"),
}


@pytest.mark.parametrize("limits", few([[10_000, 60_000], [*LIMITS]], [10_000, 60_000]), ids=str)
def test_a_full_disk(limits, unbroken, tmp_path):
    """A limit on the size of files stands in for it."""
    folder, log = tmp_path / "full", tmp_path / "full.log"

    def limited(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return chaos.work(folder, UPDATES)

    for size in limits:
        step, place = LIMITS[size]
        with open(log, "w", encoding="utf-8") as out:
            assert chaos.Fork(lambda size=size: limited(size), out, out, group=True).wait() == 1
        told = log.read_text().splitlines()
        assert step in [line for line in told if line.startswith("[")][-1], told
        assert told[-1].startswith("error: ") and place in told[-1], told
        assert sum("error" in line.lower() for line in told) == 1, told
        assert re.search(f"({NO_SPACE}): make room", told[-1]), told
        assert not list(folder.rglob("*.part")) and not list(folder.rglob("*.tmp"))
    chaos.good(chaos.begin(folder, UPDATES).wait(), folder)
    assert chaos.differences(folder, unbroken) == []


# what writes a file of a run by itself
WRITING = {
    "average": "dc-nmt average run/checkpoints --last 3 --kind update --out out/mean.pt",
    "export": "dc-nmt export run/average/checkpoint.pt --out out/small.pt",
    "generate": "generate bin --path run/average/checkpoint.pt --cpu --results-path out"
    f" {LANGUAGES} --task transformer_dc --beam 2 --max-len-b 12 --num-workers 0",
    "score": "dc-nmt score run/generate/generate-test.txt --reference corpus/test.de"
    " --tokenizer split --target-lang de --out out/run.json --detokenized out/test.de",
    "analyze": "dc-nmt analyze curves run --plot out/curves.svg",
    "corpus": f"dc-nmt corpus {LANGUAGES} --pairs 300 --out out",
}


@pytest.mark.parametrize("name", few(WRITING, "average", "generate", "score"))
def test_a_full_disk_for_one_command(name, unbroken, tmp_path, monkeypatch):
    """One sentence; nothing half-written; the same command completes when there is room."""
    for folder in ("bin", "corpus"):
        shutil.copytree(unbroken / "en-de" / folder, tmp_path / folder)
    shutil.copytree(unbroken / "en-de/transformer_dc", tmp_path / "run")
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    program, *words = WRITING[name].split()

    def call(limit):
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        sys.argv = [program, *words]
        return cli.main(words) if program == "dc-nmt" else PROGRAMS[program]()

    def told(limit):
        fork = chaos.Fork(lambda: call(limit), subprocess.PIPE, subprocess.STDOUT)
        text = fork.stdout.read().decode()
        return fork.wait(), text

    code, text = told(limit=True)
    assert code == 1 and "Traceback" not in text, text
    said = [line for line in text.splitlines() if "error: " in line]
    assert len(said) == 1 and re.search(f"({NO_SPACE}): make room", said[0]), text
    assert [path.name for path in (tmp_path / "out").iterdir()] == []
    code, text = told(limit=False)
    assert code == 0 and list((tmp_path / "out").iterdir()), text
