"""``dc-nmt paper``: what it prints and draws, and its answers to wrong input."""

from __future__ import annotations

import json
import shlex

import pytest

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.recipes import execution, grid
from dc_nmt_plugin.study.commands import paper
from dc_nmt_plugin.study.papers import parameters


def printed(capsys, *words):
    assert paper.main(list(words)) == 0
    return capsys.readouterr().out


def test_list_says_what_is_reproducible(capsys):
    text = printed(capsys, "list", "residual-decoder")
    assert "Table 7" in text and "needs the paper's 0.5M training pairs" in text


def test_show_prints_the_published_numbers(capsys):
    shown = printed(capsys, "show", "thesis, tab. 3.4", "--markdown")
    assert "| M-10, n = 5 | 86.4 | 2.76 | 29.12 |" in shown
    assert "to train all rows with one seed: 43 training runs, " in shown
    assert " -27.01, p < 0.01  " in printed(capsys, "show", "thesis, Table 3.5")


def test_parameters_of_a_table(capsys, monkeypatch):
    out = printed(capsys, "parameters", "--item", "thesis, Table 4.6a")
    assert out.count("ok") == 7 and "Table 3.2" not in out
    rows = json.loads(printed(capsys, "parameters", "--item", "thesis, Table 4.6a", "--json"))
    assert len(rows) == 7 and all(row["within"] for row in rows)
    assert len({row["vocabulary"] for row in rows}) == 1, "it is fitted to the baseline alone"
    for row in rows:
        assert row["difference"] == pytest.approx(row["built"] / row["published"] - 1, abs=1e-4)
    monkeypatch.setattr(parameters, "TOLERANCE", 1e-9)
    assert paper.main(["parameters", "--item", "thesis, Table 4.6a"]) == 1
    assert capsys.readouterr().out.count("NOT MET") == 6, "all but the baseline"


def test_a_run_ends_in_the_table(cwd, monkeypatch, capsys):
    """Where one fails, the others go on, and its analyses are left out."""
    ran = []

    def carry_out(stage, _):
        ran.extend(f"{step.name} .".split()[1] for step in stage.steps)
        if "train" in ran[-1] and "kernel-size-3" in stage.folder.name:
            raise UserError("no")

    def run(words):
        ran.append(words[0])
        return paper.main(words[1:])

    monkeypatch.setattr(execution, "_run_stage", carry_out)
    monkeypatch.setattr(grid, "run_command", run)
    rows = ["--rows", "f = 2; f = 3"]
    with pytest.raises(UserError) as error:
        paper.main(["run", "dual-context, Figure 4", *rows])
    first, failed, left_out, no_table = str(error.value).splitlines()
    assert first == "1 of 2 runs failed:"
    assert failed == "  transformer_dc-dc-kernel-size-3-s1: no"
    assert left_out.startswith("  left out: dc-nmt analyze")
    assert "no analysis yet" in no_table
    evaluation = ["average", "translate", "score"]
    assert ran[-6:] == ["train", *evaluation, "train", "paper"]
    ran.clear()
    assert paper.main(["run", "dual-context, Figure 3", "--rows", "f = 2"]) == 0
    assert ran[-5:] == ["train", *evaluation, "paper"]
    assert "29.26" in capsys.readouterr().out
    (row, *_) = json.loads(printed(capsys, "table", "dual-context, Figure 3", "--json"))
    assert row["published"] == "29.26" and row["mean"] is None


def test_a_plan_names_the_parts_that_it_leaves_out_and_its_size(capsys):
    words = ["run", "cross-aggregation, Table 2", "--dry-run"]
    assert paper.main(words) == 0
    streams = capsys.readouterr()
    assert "wmt14_en_de" in streams.out and "wmt17_zh_en" not in streams.out
    assert streams.out.endswith(
        "# 2 training runs, 200k updates, 4.92G tokens, up to 61.2M parameters\n"
    )
    first, second = streams.err.splitlines()
    assert first.startswith("left out: Transformer-Base, Zh⇒En: needs the papers' 20.6M")
    assert second.startswith("left out: + Cross Aggregation, Zh⇒En: needs the papers' 20.6M")
    assert paper.main([*words, "--any-counts"]) == 0
    assert "left out" not in capsys.readouterr().err


WRONG = [
    ("run 'thesis, Table 3.4' --rows 'M-10, n = 7' --dry-run", "Did you mean 'M-10, n"),
    ("run 'thesis, Figure 3.7' --dry-run", "cannot be run: a drawing of Table 3.4's numbers"),
    ("run 'dual-context, Table 3' --dry-run", "Table 3: cannot be run: reported by other"),
    ("run 'dual-context, Table 4' --dry-run", r"needs the ten .*SentEval \(--probing DIR\)\."),
    ("run 'cross-aggregation, Table 1' --dry-run", "needs the papers' 20.6M .*--any-counts"),
    ("table 'thesis, Figure 4.8'", "no analysis yet; dc-nmt paper run 'thesis, Figure 4.8'"),
    ("parameters --item 'thesis, Table 4.7'", r"Table 4\.7 has no parameter counts"),
    ("show thesis", "thesis: is no item such as 'thesis, Table 3.4'"),
    ("run 'thesis, Table 3.4' --max-update 1", "--max-update 1: too few for the mean of 5"),
    # both are read only after the training
    ("run 'dual-context, Table 4' --probing .", "--probing: ./sentence_length.txt is not a file"),
    ("run 'residual-decoder, Figure 4' --trees .", "--trees: . is not a file"),
]


@pytest.mark.parametrize(("line", "message"), WRONG)
def test_wrong_input_gets_one_sentence(line, message, cwd):
    with pytest.raises(UserError, match=message) as error:
        paper.main(shlex.split(line))
    assert "\n" not in str(error.value)
