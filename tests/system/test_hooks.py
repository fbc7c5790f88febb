"""Every diagnostic and every decoding flag on one model, under names of other architectures."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import fairseq_cli.train
import pytest
from commands import PROGRAMS, ROOT, Result, run
from fairseq.logging import progress_bar
from helpers import few
from systems import SPLITS, generation, training
from tensorboardX.proto.event_pb2 import Event

AXES = ["--encoder-self-attention", "dual_context", "--source-features", "m-00"]
AXES += ["--decoder-self-attention", "context_aware"]
DIAGNOSTICS = [
    *("dv_encoder", "dv_encoder_1", "dv_encoder_2"),
    *("main_loss", "aux1_loss", "aux1_nll_loss", "aux1_accuracy", "accuracy"),
]


@pytest.mark.parametrize(
    ("task", "criterion"),
    few(
        [
            ("transformer_ms_aux", "transformer_ms_aux"),
            ("transformer_dc", "joint_label_smoothed_cross_entropy"),
        ],
        ("transformer_dc", "joint_label_smoothed_cross_entropy"),
    ),
)
def test_one_validation_logs_everything_and_one_task_decodes_everything(
    task, criterion, corpus, tmp_path, monkeypatch
):
    monkeypatch.setitem(PROGRAMS, "train", train_and_close)
    names = ["--arch", "transformer_ms_aux", "--task", task, "--criterion", criterion]
    command = training(corpus, tmp_path, *names, *AXES, "--max-epoch", 1)
    command += ["--tensorboard-logdir", tmp_path / "curves"]
    trained = run(tmp_path, "train", *command).good()
    assert_curves(tmp_path / "curves", trained)
    for name in DIAGNOSTICS:
        (value,) = trained.logged(f"valid_{name}")
        assert value >= 0

    def generate(*flags):
        path = tmp_path / "checkpoint_last.pt"
        flags = generation(corpus, path, "transformer_dc", "--task", task, *flags)
        return run(tmp_path, "generate", *flags)

    plain = generate().good().scored()
    assert len(plain) == SPLITS["test"]
    for flags in (
        ["--decode-with", "aux:1"],
        ["--mask-source-layers", "2"],
        ["--length-penalty", "wu", "--lenpen", 1.1],
        ["--int8"],
    ):
        assert generate(*flags).good().scored() != plain, flags
    refused = generate("--no-aux-fusion")
    assert refused.code == 1 and "--no-aux-fusion" in refused.errors


def train_and_close() -> object:
    """fairseq-train as it ends in a process of its own: tensorboardX writes in a thread."""
    train = fairseq_cli.train.cli_main()
    for writer in progress_bar._tensorboard_writers.values():
        writer.close()
    return train


def assert_curves(folder: Path, trained: Result) -> None:
    """TensorBoard gets what the log has, and everything that docs/monitoring.md names."""
    page = (ROOT / "docs/monitoring.md").read_text("utf-8")
    about = page.split("shows three runs")[1].split("**Weights")[0]
    named = {name for name in re.findall(r"`(\w+)`", about) if not name.startswith("_")}
    runs = {"train_inner", "train", "valid"}
    assert {path.name for path in folder.iterdir()} == runs < named
    curves = {name: curves_of(folder / name) for name in runs}
    for name in (named - runs) | set(DIAGNOSTICS):
        # this model has the gates in its decoder
        (value,) = curves["valid"][name.replace("lambda_q_encoder", "lambda_q_decoder")]
        logged = trained.logged(f"valid_{name.replace('lambda_q_encoder', 'lambda_q_decoder')}")
        assert value == pytest.approx(logged[0], abs=1e-3), name
    assert len(curves["train_inner"]["loss"]) == len(trained.logged("lr")) > 2


def curves_of(folder: Path) -> dict[str, list[float]]:
    """Tag → values, in order, of a run of TensorBoard's."""
    (path,) = folder.iterdir()
    data, start = path.read_bytes(), 0
    found: dict[str, list[float]] = {}
    while start < len(data):  # length, its checksum, an event, its checksum
        (size,) = struct.unpack("<Q", data[start : start + 8])
        event = Event.FromString(data[start + 12 : start + 12 + size])
        for value in event.summary.value:
            if value.HasField("simple_value"):
                found.setdefault(value.tag, []).append(value.simple_value)
        start += size + 16
    return found
