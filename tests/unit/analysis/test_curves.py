"""``dc-nmt analyze curves`` of logs."""

from __future__ import annotations

import json

from dc_nmt_plugin import cli


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
    assert cli.main(["analyze", "curves", *runs, "--json"]) == 0
    both = [each["curves"] for each in json.loads(capsys.readouterr().out)["runs"].values()]
    for split in ("train", "valid"):
        assert [curves[f"{split}:loss"] for curves in both] == [[[5, 8.0]], [[5, 8.2]]]
    plain, joint = both
    assert not any("joint" in number for number in plain)
    assert joint["valid:joint_loss"] == joint["valid:best_joint_loss"] == [[5, 16.5]]
    assert cli.main(["analyze", "curves", *runs, "--numbers", "bleu", "--plot", "figure"]) == 2
    assert "--numbers: 'bleu' is not one of valid:loss" in capsys.readouterr().err
