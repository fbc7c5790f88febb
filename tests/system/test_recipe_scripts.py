"""The shell scripts that --dry-run prints, and those of the examples."""

from __future__ import annotations

import shlex
from pathlib import Path

import forks
import pytest
from helpers import toy_text

from dc_nmt_plugin import cli
from dc_nmt_plugin.laboratory.recipes import plan, preparation
from dc_nmt_plugin.runs.record import read_record

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TEXT = EXAMPLES.parents[1] / "shared/data/multi30k"  # beside some checkouts
SMALL = ["--max-update", "4", "--average", "2"]
for side in ("encoder", "decoder"):
    SMALL += [f"--{side}-layers", "1", f"--{side}-embed-dim", "16", f"--{side}-ffn-embed-dim", "16"]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/recipe.sh")), ids=lambda p: p.parent.name)
def test_a_task_s_script_is_what_its_command_prints(path, monkeypatch, cwd, capsys):
    """After a change: taskset -c 0,1 COMMAND > examples/TASK/recipe.sh"""
    monkeypatch.setattr(preparation, "usable_cpus", lambda: 2)
    text = path.read_text("utf-8")
    command = text.splitlines()[1].removeprefix("# Made by: dc-nmt ")
    assert cli.main(shlex.split(command)) == 0
    assert capsys.readouterr().out == text
    assert len(text.splitlines()) <= 70


@pytest.fixture
def recipe(cwd, monkeypatch, capsys):
    """The folder of a recipe of one's own: two files of text."""
    monkeypatch.setattr(plan, "visible_gpus", lambda: 0)
    for code, lines in zip(("en", "de"), zip(*toy_text("en", "de", 400), strict=True), strict=True):
        (cwd / f"a.{code}").write_text("\n".join(lines) + "\n", "utf-8")
    assert cli.main(["new", "mine", "--train", "a.en", "a.de", "--bpe", "100"]) == 0
    capsys.readouterr()
    return cwd / "mine"


def printed(words, folder, capsys):
    """What a printed script prints when it runs."""
    assert cli.main([*words, "--dry-run"]) == 0
    script = folder / "recipe.sh"
    script.write_text(capsys.readouterr().out)
    code, output = forks.run_script(script, folder)
    assert code == 0, output[-5000:]
    return output


MULTI30K = ["multi30k_en_de", "transformer_dc", "--fp32", "--sample", "100"]
MULTI30K += ["--raw", str(TEXT), "--max-update", "6"]


@pytest.mark.parametrize(
    "words",
    [
        ["mine", "transformer_dc", *SMALL],
        pytest.param(
            MULTI30K, marks=pytest.mark.skipif(not TEXT.is_dir(), reason="needs its text")
        ),
    ],
    ids=["own text", "Multi30k"],
)
def test_a_script_leaves_the_translation_and_scores_of_dc_nmt_run(words, recipe, cwd, capsys):
    words = ["run", *words, "--gpus", "0"]
    assert cli.main([*words, "--out", "run"]) == 0
    capsys.readouterr()
    output = printed([*words, "--out", "script"], cwd, capsys)
    folders = [path for place in ("run", "script") for path in (cwd / place).rglob("*-s1")]
    one, other = (read_record(folder) for folder in folders)
    scores = [[score.value for score in each.decodings[0].scores] for each in (one, other)]
    assert scores[0] == scores[1] and f"{scores[0][0]:.2f}" in output
    translations = [(folder / "hypotheses.de").read_bytes() for folder in folders]
    assert translations[0] == translations[1]
    assert one.settings == other.settings


def test_a_script_stops_where_a_text_is_prepared(recipe, cwd, capsys):
    """Other codes would come under the stamp, and under models that were trained with the first."""
    assert cli.main(["prepare", "mine"]) == 0
    codes = (recipe / "data/bpe/codes").read_bytes()
    changed = (recipe / "recipe.yaml").read_text().replace("operations: 100", "operations: 50")
    (recipe / "recipe.yaml").write_text(changed)
    capsys.readouterr()
    assert cli.main(["prepare", "mine", "--dry-run"]) == 0
    (cwd / "x.sh").write_text(capsys.readouterr().out)
    code, output = forks.run_script(cwd / "x.sh", cwd)
    assert code != 0 and "data/raw" in output and "exists" in output
    assert (recipe / "data/bpe/codes").read_bytes() == codes


def test_a_script_of_several_runs_has_them_all_and_their_table(recipe, cwd, capsys):
    words = ["run", "mine", "transformer_standard", "transformer_dc", "--seeds", "1,2"]
    assert cli.main([*words, *SMALL, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("fairseq-preprocess") for line in lines) == 1
    assert sum(line.startswith("fairseq-train") for line in lines) == 4
    assert lines[-2].startswith("dc-nmt results") and lines[-1].endswith("--finished --over-seeds")
