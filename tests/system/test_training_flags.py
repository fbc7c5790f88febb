"""Flags that would keep the wrong model, or do nothing, are refused before a training begins."""

from __future__ import annotations

from commands import assert_explained
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from systems import family, hydra, train, training

from dc_nmt_plugin.compat.beginning import contradictions

ARCH = "transformer_dc"

# flags of a training → what the one sentence must name
REFUSED = {
    "--maximize-best-checkpoint-metric": ["--maximize-best-checkpoint-metric", "lower"],
    "--best-checkpoint-metric accuracy": ["--best-checkpoint-metric", "higher"],
    "--best-checkpoint-metric aux1_accuracy": ["aux1_accuracy: is better when it is higher"],
    "--lr-scheduler polynomial_decay --total-num-update 3 --max-update 6": ["--total-num-update"],
}


def test_contradictions_are_refused_before_training(corpus, tmp_path):
    first, *_ = REFUSED
    result = train(corpus, tmp_path / "save", ARCH, first, "--max-update", 1)  # not refused: ends
    assert_explained(result, *REFUSED[first])
    assert not list(tmp_path.rglob("*.pt"))
    words = [str(word) for word in training(corpus, tmp_path, *family(ARCH))]
    for flags, pieces in REFUSED.items():
        parser = options.get_training_parser()
        args = options.parse_args_and_arch(parser, [*words, *flags.split()])
        (problem,) = contradictions(convert_namespace_to_omegaconf(args))
        assert all(piece in problem for piece in pieces), problem


def test_misspelt_and_idle_settings_in_a_file_of_hydra(corpus, tmp_path):
    model = {"encoder_layer": 2, "dc_kernel_sice": 3, "xagg_iterations": 2}
    result = hydra(corpus, tmp_path, **model)
    assert result.code == 1
    sentences = result.errors
    assert "model.encoder_layer: transformer_ms_aux has no such setting. Did you mean" in sentences
    assert "model.dc_kernel_sice" in sentences and "'dc_kernel_size'" in sentences
    assert "model.xagg_iterations: is for cross_aggregation self-attention" in sentences
