"""``dc-nmt analyze curves`` of logs: what --at asks for, checked before anything is written."""

from __future__ import annotations

import json

import pytest
from records import write_run

from dc_nmt_plugin import cli


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two seeds of one system and one of another, with a BLEU after 5 and 10 updates."""
    monkeypatch.chdir(tmp_path)
    bleu = {"a-s1": (10.0, 20.0), "a-s2": (14.0, None), "b-s1": (None, 30.0)}
    for name, values in bleu.items():
        write_run(tmp_path / name)
        lines = [
            f"1 | INFO | valid | {json.dumps({'valid_num_updates': at, 'valid_bleu': value})}\n"
            for at, value in zip((5, 10), values, strict=True)
            if value is not None
        ]
        (tmp_path / name / "train.log").write_text("".join(lines))
    return list(bleu)


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--at", "7"], "--at 7: no run logged valid:bleu there; the nearest is 5"),
        (["--numbers", "bleu"], "--numbers: no run has 'bleu'; there are valid:bleu"),
    ],
)
def test_nothing_is_written_where_an_option_is_wrong(runs, tmp_path, capsys, words, said, form):
    code = cli.main(["analyze", "curves", *runs, *words, *form, "--plot", "figure"])
    printed = capsys.readouterr()
    assert code == 2 and not printed.out and said in printed.err
    assert not list(tmp_path.glob("figure*"))


def test_json_has_the_means_over_seeds(runs, capsys):
    words = ["analyze", "curves", *runs, "--at", "5", "10", "--over-seeds", "--json"]
    assert cli.main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert [tuple(row.values()) for row in found["at"]] == [
        ("valid:bleu", "a", 5, 12.0, pytest.approx(8**0.5), 2, 2),
        ("valid:bleu", "a", 10, 20.0, None, 1, 2),
        ("valid:bleu", "b", 5, None, None, 0, 1),
        ("valid:bleu", "b", 10, 30.0, None, 1, 1),
    ]
    names = ["number", "run", "updates", "mean", "deviation", "logged", "of"]
    assert list(found["at"][0]) == names and list(found["runs"]) == runs
    words.remove("--over-seeds")
    assert cli.main(words) == 0
    rows = json.loads(capsys.readouterr().out)["at"]
    assert [row["mean"] for row in rows if row["run"] == "a-s1"] == [10.0, 20.0]
    assert cli.main(["analyze", "curves", *runs, "--json"]) == 0
    assert "at" not in json.loads(capsys.readouterr().out)


def test_the_diagnostics_of_layers_are_shown_and_what_decoders_score_is_not(tmp_path, capsys):
    names = [
        "loss",
        "bleu_aux1",
        "aux1_ppl",
        "aux1_loss",
        "accuracy",
        "source_layer_1",
        "dv_encoder",
    ]
    line = {"valid_num_updates": 5, **{f"valid_{name}": 1.0 for name in names}}
    (tmp_path / "train.log").write_text(f"1 | INFO | valid | {json.dumps(line)}\n")
    assert cli.main(["analyze", "curves", str(tmp_path), "--json"]) == 0
    there = json.loads(capsys.readouterr().out)["runs"]
    assert len(next(iter(there.values()))["curves"]) == len(names)
    assert cli.main(["analyze", "curves", str(tmp_path)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "valid:" in line]
    assert [row[1] for row in rows] == ["valid:loss", "valid:source_layer_1", "valid:dv_encoder"]


def test_a_joint_loss_is_not_drawn_beside_a_plain_one(tmp_path, capsys):
    """MS-1 stood at 16 to 22 bits, the plain model at 8 to 11."""
    logged = {
        "plain": {"loss": 8.0, "best_loss": 8.0},
        "joint": {"loss": 16.5, "main_loss": 8.2, "aux1_loss": 8.3, "best_loss": 16.5},
    }
    for name, values in logged.items():
        lines = [
            f"1 | INFO | {stage} | {json.dumps({f'{prefix}num_updates': 5, **own})}\n"
            for stage, prefix in (("valid", "valid_"), ("train_inner", ""))
            for own in [{f"{prefix}{number}": value for number, value in values.items()}]
        ]
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text("".join(lines))
    runs = [str(tmp_path / name) for name in logged]
    assert cli.main(["analyze", "curves", *runs, "--at", "5", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["at"]
    found = {(row["number"], row["run"]): row["mean"] for row in rows}
    for split in ("train", "valid"):
        assert [found[f"{split}:loss", name] for name in logged] == [8.0, 8.2]
    assert not any("joint" in number for number, _ in found)
    wanted = ["--numbers", "valid:joint_loss", "valid:best_joint_loss", "valid:aux1_loss"]
    assert cli.main(["analyze", "curves", *runs, *wanted, "--at", "5", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["at"]
    assert [row["mean"] for row in rows] == [None, 16.5, None, 16.5, None, 8.3]
