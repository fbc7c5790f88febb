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

    def run(words):
        ran.append(words)
        if words[:3] == ["train", "wmt14_en_de", "transformer_dc"] and "--name" in words:
            raise UserError("no")
        return paper.main(words[1:]) if words[0] == "paper" else 0

    monkeypatch.setattr(execution, "run_command", run)
    monkeypatch.setattr(grid, "run_command", run)
    rows = ["--rows", "f = 2; f = 3"]
    with pytest.raises(UserError) as error:
        paper.main(["run", "dual-context, Figure 4", *rows])
    first, failed, left_out, no_table = str(error.value).splitlines()
    assert first == "1 of 2 runs failed:"
    assert failed == "  transformer_dc-dc-kernel-size-3-s1: no"
    assert left_out.startswith("  left out: dc-nmt analyze")
    assert "no analysis yet" in no_table
    assert [words[0] for words in ran] == ["prepare", "train", "evaluate", "train", "paper"]
    ran.clear()
    assert paper.main(["run", "dual-context, Figure 3", "--rows", "f = 2"]) == 0
    assert [words[0] for words in ran] == ["prepare", "train", "evaluate", "paper"]
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
    first, second, *hours = streams.err.splitlines()
    assert first.startswith("left out: Transformer-Base, Zh⇒En: needs the papers' 20.6M")
    assert second.startswith("left out: + Cross Aggregation, Zh⇒En: needs the papers' 20.6M")
    assert len(hours) == 2 and "hours unknown for 100,000 updates; --estimate" in hours[0]
    assert hours[0].endswith("when its text is prepared")
    assert paper.main([*words, "--any-counts"]) == 0
    assert "left out" not in capsys.readouterr().err


WRONG = [
    ("run 'thesis, Table 3.44' --dry-run", r"thesis has no 'Table 3\.44'\. Did you mean 'Table 3"),
    ("run 'thesis, Table 3.4' --rows 'M-10, n = 7' --dry-run", "Did you mean 'M-10, n"),
    ("run 'thesis, Figure 3.7' --dry-run", "cannot be run: a drawing of Table 3.4's numbers"),
    ("run 'dual-context, Table 3' --dry-run", "Table 3: cannot be run: reported by other"),
    ("run 'dual-context, Table 4' --dry-run", r"needs the ten .*SentEval \(--probing DIR\)\."),
    ("run 'cross-aggregation, Table 1' --dry-run", "needs the papers' 20.6M .*--any-counts"),
    ("table 'thesis, Figure 4.8'", "no analysis yet; dc-nmt paper run 'thesis, Figure 4.8'"),
    ("parameters --item 'thesis, Table 4.7'", r"Table 4\.7 has no parameter counts"),
    ("show thesis", "thesis: is no item such as 'thesis, Table 3.4'"),
    ("run 'thesis, Table 3.4' --max-update 1", "--max-update 1: too few for the mean of 5"),
    ("run 'thesis, Table 3.4' --raw away", "--raw: away is not a folder"),
    # both are read only after the training
    ("run 'dual-context, Table 4' --probing .", "--probing: ./sentence_length.txt is not a file"),
    ("run 'residual-decoder, Figure 4' --trees .", "--trees: . is not a file"),
]


@pytest.mark.parametrize(("line", "message"), WRONG)
def test_wrong_input_gets_one_sentence(line, message, cwd):
    with pytest.raises(UserError, match=message) as error:
        paper.main(shlex.split(line))
    assert "\n" not in str(error.value)
