"""Checkpoint averaging against plain arithmetic."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest
import torch

from dc_nmt_plugin.checkpoints.loading import load_checkpoint
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.commands.average import main


def save(
    path: Path,
    model: dict[str, torch.Tensor],
    seed=1,
    target="de",
    arch="transformer_dc",
    languages=None,  # that fairseq found in names of files, without flags
):
    torch.save(
        {
            "args": None,
            "cfg": {
                "model": Namespace(_name=arch, arch=arch, seed=seed),
                "task": {"source_lang": "en", "target_lang": target},
            },
            "model": model,
            "optimizer_history": [{"num_updates": 7}],
            "last_optimizer_state": {"state": {0: torch.ones(3)}},
            "extra_state": {"epoch": 1, **({"languages": languages} if languages else {})},
        },
        path,
    )
    return path


def average(output: Path, *arguments: object) -> dict:
    assert main([*map(str, arguments), "--out", str(output)]) == 0
    return torch.load(output, weights_only=True)


def test_shared_parameters_stay_shared(tmp_path):
    paths = []
    for k in range(2):
        weight = torch.full((1000, 10), float(k))
        paths.append(save(tmp_path / f"{k}.pt", {"a": weight, "b": weight, "c": 1 + weight}))
    state = average(tmp_path / "mean.pt", *paths)
    model = state["model"]
    assert model["a"].data_ptr() == model["b"].data_ptr() != model["c"].data_ptr()
    assert [value.mean() for value in model.values()] == [0.5, 0.5, 1.5]


def test_mean_of_floats_integers_and_booleans(tmp_path):
    weights = [torch.tensor([[1.0, -2.0], [3e7, 0.1 * k]]) for k in range(3)]
    paths = [
        save(
            tmp_path / f"{k}.pt",
            {
                "w": weight,
                "half": torch.tensor([1.0 + k]).half(),
                "bfloat16": torch.tensor([1.0 + k / 128]).bfloat16(),
                "steps": torch.tensor([2**40 + k]),
                "mask": torch.tensor([True, False]),
            },
        )
        for k, weight in enumerate(weights)
    ]
    state = average(tmp_path / "mean.pt", *paths)
    expected = [[1.0, -2.0], [3e7, (0.0 + 0.1 + 0.2) / 3]]
    assert torch.equal(state["model"]["w"], torch.tensor(expected))
    mean = state["model"]["bfloat16"]
    assert mean.dtype is torch.float32 and mean.item() == 1 + 1 / 128
    assert state["model"]["half"].dtype is torch.float16 and state["model"]["half"].item() == 2.0
    assert state["model"]["steps"].tolist() == [2**40 + 1]
    assert state["model"]["mask"].tolist() == [True, False]
    assert state["last_optimizer_state"] is None
    assert state["averaged_checkpoints"] == ["0.pt", "1.pt", "2.pt"]
    assert state["extra_state"] == {"epoch": 1}


def test_float32_sums_do_not_lose_small_parts(tmp_path):
    values = [1e8, 1.0, 1.0, 1.0, -1e8]
    paths = [save(tmp_path / f"{k}.pt", {"w": torch.tensor([v])}) for k, v in enumerate(values)]
    state = average(tmp_path / "mean.pt", *paths)
    assert state["model"]["w"].item() == pytest.approx(0.6)  # 0.0 if summed in float32


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("--last 2 --kind epoch", ["checkpoint9.pt", "checkpoint10.pt"]),
        ("--last 2 --kind update", ["checkpoint_1_900.pt", "checkpoint_2_1000.pt"]),
    ],
)
def test_choice_from_a_folder(tmp_path, chosen, expected):
    for name in (
        *("checkpoint2.pt", "checkpoint9.pt", "checkpoint10.pt", "checkpoint_last.pt"),
        *("checkpoint_1_800.pt", "checkpoint_1_900.pt", "checkpoint_2_1000.pt"),
        *("checkpoint.best_loss_10.5.pt", "checkpoint_best.pt"),
    ):
        save(tmp_path / name, {"w": torch.zeros(1)})
    state = average(tmp_path / "mean.pt", tmp_path, *chosen.split())
    assert state["averaged_checkpoints"] == expected
    for path in [*tmp_path.glob("checkpoint*[0-9].pt"), tmp_path / "mean.pt"]:
        path.unlink()
    there = r"has 0 epoch checkpoints, not 1; .*: checkpoint_best\.pt, checkpoint_last\.pt$"
    with pytest.raises(UserError, match=there):
        average(tmp_path / "mean.pt", tmp_path, "--last", "1")


def test_a_mean_is_of_one_training(tmp_path):
    """Of one architecture, direction, seed and precision; its message names what differs."""
    one, two = torch.zeros(1), torch.zeros(2)
    first = save(tmp_path / "a.pt", {"w": two, "v": one})
    others = {
        "--arch differs": save(tmp_path / "b.pt", {"x": one}, arch="transformer_x"),
        "u differs": save(tmp_path / "c.pt", {"w": two, "v": one, "u": one}),
        "w differs": save(tmp_path / "d.pt", {"w": torch.zeros(3), "v": one}),
        r"w differs \(float32 .*, float16": save(tmp_path / "e.pt", {"w": two.half(), "v": one}),
        r"--target-lang differs \(de, fr\)": save(
            tmp_path / "f.pt", {"w": two, "v": one}, target="fr"
        ),
        r"--source-lang differs \(en, de\)": save(
            tmp_path / "h.pt", {"w": two, "v": one}, languages=["de", "en"]
        ),
        r"i.pt: is not a fairseq checkpoint: it has no parameters": save(tmp_path / "i.pt", {}),
        r"--seed differs \(1, 2\)": save(tmp_path / "g.pt", {"w": two, "v": one}, seed=2),
        "no such checkpoint": tmp_path / "absent.pt",
    }
    for message, other in others.items():
        with pytest.raises(UserError, match=message):
            average(tmp_path / "mean.pt", first, other)
        assert not list(tmp_path.glob("*mean*"))  # nothing half-written


def test_the_format_of_old_torch_is_read(tmp_path):
    state = {"model": {"w": torch.zeros(2)}, "last_optimizer_state": {"step": 3}, "args": None}
    torch.save(state, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    loaded = load_checkpoint(str(tmp_path / "old.pt"), mmap=True)
    assert loaded["last_optimizer_state"] == {"step": 3}
