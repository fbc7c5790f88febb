"""The shell scripts that --dry-run prints, and those of the examples."""

from __future__ import annotations

from pathlib import Path

import forks
import leavings
import pytest
from helpers import toy_text

from dc_nmt_plugin import cli, steps
from dc_nmt_plugin.laboratory.recipes import plan
from dc_nmt_plugin.laboratory.recipes.recipe import load
from dc_nmt_plugin.runs.record import read_record

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SMALL = ["--max-update", "4", "--average", "2"]
for side in ("encoder", "decoder"):
    SMALL += [f"--{side}-layers", "1", f"--{side}-embed-dim", "16", f"--{side}-ffn-embed-dim", "16"]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/recipe.sh")), ids=lambda p: p.parent.name)
def test_a_task_s_script_is_what_dry_run_prints(path, monkeypatch, cwd, capsys):
    """After a change: dc-nmt run TASK --dry-run > examples/TASK/recipe.sh"""
    monkeypatch.setattr(plan, "visible_gpus", lambda: 0)
    task = path.parent.name
    words = ["--any-counts"] if load(task).task.lacks else []
    assert cli.main(["run", task, *words, "--dry-run"]) == 0
    assert capsys.readouterr().out == path.read_text("utf-8")


@pytest.mark.parametrize(
    ("arch", "pair"),
    [
        ("transformer_dc", ("en", "de")),
        pytest.param("gru_selfattn_residual", ("de", "en"), marks=pytest.mark.thorough),
    ],
)
def test_a_script_leaves_the_files_of_dc_nmt_run(arch, pair, cwd, capsys, monkeypatch):
    """Whoever does something records it: the programs are the same."""
    for code, lines in zip(pair, zip(*toy_text(*pair, 400), strict=True), strict=True):
        (cwd / f"a.{code}").write_text("\n".join(lines) + "\n", "utf-8")
    files = ["--train", *(f"a.{code}" for code in pair)]
    assert cli.main(["new", "mine", arch, *files, "--bpe", "100"]) == 0
    capsys.readouterr()
    small = [] if arch.startswith("gru") else SMALL
    run = ["run", "mine", "--sample", "200", *small]
    assert cli.main([*run, "--dry-run"]) == 0
    (cwd / "recipe.sh").write_text(capsys.readouterr().out)
    # the second call prepares nothing again, and goes on with the run
    for environment in ({}, {"GPUS": "0"}):
        code, printed = forks.run_script(cwd / "recipe.sh", cwd, **environment)
        assert code == 0, printed[-5000:]
    made = cwd / "mine/sample200"
    (folder,) = made.glob("*-s1")
    (decoding,) = read_record(folder).decodings
    assert decoding.scores and f"{decoding.scores[0].value:.2f}" in printed

    # dc-nmt run takes everything for done
    monkeypatch.setattr(plan, "visible_gpus", lambda: 0)
    monkeypatch.setattr(steps, "start", lambda *_, **__: pytest.fail("it ran again"))
    record = (folder / "run.json").read_bytes()
    assert cli.main(run) == 0
    assert (folder / "run.json").read_bytes() == record
    # and leaves the same without the script
    by_script = made.rename(cwd / "by script")
    monkeypatch.setattr(steps, "start", forks.start)
    assert cli.main(run) == 0
    assert leavings.names(made) == leavings.names(by_script)
    assert leavings.differences(made, by_script) == []


def test_a_script_has_a_seed_of_its_own(cwd, capsys):
    for code, lines in zip(("en", "de"), zip(*toy_text("en", "de", 400), strict=True), strict=True):
        (cwd / f"a.{code}").write_text("\n".join(lines) + "\n", "utf-8")
    assert cli.main(["new", "mine", "--train", "a.en", "a.de", "--bpe", "100"]) == 0
    capsys.readouterr()
    assert cli.main(["run", "mine", "--sample", "200", *SMALL, "--dry-run"]) == 0
    (cwd / "recipe.sh").write_text(capsys.readouterr().out)
    environment = {"GPUS": "0", "SEED": "3", "OUT": str(cwd / "runs")}
    code, printed = forks.run_script(cwd / "recipe.sh", cwd, **environment)
    assert code == 0, printed[-5000:]
    (run,) = (cwd / "runs").glob("*-s3")
    assert read_record(run).seed == 3 and read_record(run).decodings[0].scores
