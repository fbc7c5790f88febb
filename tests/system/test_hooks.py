"""Every diagnostic and every decoding flag on one model, under names of other architectures."""

from __future__ import annotations

from commands import run
from systems import SPLITS, generation, training

AXES = ["--encoder-self-attention", "dual_context", "--source-features", "m-00"]
AXES += ["--decoder-self-attention", "context_aware"]
DIAGNOSTICS = [
    *("dv_encoder", "dv_encoder_1", "dv_encoder_2"),
    *("main_loss", "aux1_loss", "aux1_nll_loss", "aux1_accuracy", "accuracy"),
]


def test_one_validation_logs_everything_and_one_task_decodes_everything(corpus, tmp_path):
    task = "transformer_dc"
    names = ["--arch", "transformer_ms_aux", "--task", task]
    names += ["--criterion", "joint_label_smoothed_cross_entropy"]
    command = training(corpus, tmp_path, *names, *AXES, "--max-epoch", 1)
    trained = run(tmp_path, "train", *command).good()
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
