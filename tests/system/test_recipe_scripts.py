"""The shell scripts that --dry-run prints, and those of the examples."""

from __future__ import annotations

from pathlib import Path

import forks
import pytest
from helpers import toy_text

from dc_nmt_plugin import cli
from dc_nmt_plugin.recipes import plan
from dc_nmt_plugin.recipes.recipe import load
from dc_nmt_plugin.runs.record import read_record

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SMALL = ["--encoder-layers", "1", "--decoder-layers", "1", "--max-update", "4", "--average", "2"]


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
def test_a_script_runs_from_raw_text_to_the_score(arch, pair, cwd, capsys):
    for code, lines in zip(pair, zip(*toy_text(*pair, 400), strict=True), strict=True):
        (cwd / f"a.{code}").write_text("\n".join(lines) + "\n", "utf-8")
    files = ["--train", *(f"a.{code}" for code in pair)]
    assert cli.main(["new", "mine", arch, *files, "--bpe", "100"]) == 0
    capsys.readouterr()
    small = [] if arch.startswith("gru") else SMALL
    assert cli.main(["run", "mine", "--sample", "200", *small, "--dry-run"]) == 0
    (cwd / "recipe.sh").write_text(capsys.readouterr().out)
    # the second call prepares nothing again, and goes on with the run
    for environment in ({}, {"GPUS": "0"}):
        code, printed = forks.run_script(cwd / "recipe.sh", cwd, SEED="3", **environment)
        assert code == 0, printed[-5000:]
    (run,) = (cwd / "mine/sample200").glob("*-s3")
    record = read_record(run)
    assert record.decodings[0].scores and record.training.updates == (40 if not small else 4)
    assert f"{record.decodings[0].scores[0].value:.2f}" in printed
