"""What users ran into with fairseq's programs: nothing silently wrong, nothing lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from commands import assert_explained, run
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from interruption import same
from systems import SOURCE, TARGET, family, generation, hydra, load, train, training

from dc_nmt_plugin.compat.beginning import lock_folder
from dc_nmt_plugin.compat.programs import contradictions

ARCH, AUXILIARY = "transformer_dc", "transformer_ms_aux_aif"


# flags of a training → what the one sentence must name; c53, c59, c59c, c61
REFUSED = {
    "--maximize-best-checkpoint-metric": ["--maximize-best-checkpoint-metric", "lower"],
    "--best-checkpoint-metric accuracy": ["--best-checkpoint-metric", "higher"],
    "--best-checkpoint-metric aux1_accuracy": ["aux1_accuracy: is better when it is higher"],
    "--lr-scheduler polynomial_decay --total-num-update 3 --max-update 6": ["--total-num-update"],
    "--lr-scheduler cosine --warmup-updates 6 --max-update 6": ["--warmup-updates: 6"],
    "--best-checkpoint-metric bleu --maximize-best-checkpoint-metric": ["needs --eval-bleu"],
    "--arch transformer_tiny": [f"--criterion {ARCH}", "transformer_tiny needs", "label_smoothed"],
}
# a search would fail, some after an epoch
OF_VALIDATION = {
    '--eval-bleu --eval-bleu-args {"beam":1,"max_len_bb":9}': ["'max_len_b'", "--eval-bleu-args"],
    '--eval-bleu --eval-bleu-args {"beam":0}': ["--eval-bleu-args: beam is 0", "at least 1"],
    '--eval-bleu --eval-bleu-args {"beam":"5"}': ["--eval-bleu-args: beam is '5'", "a number"],
    '--eval-bleu --eval-bleu-args {"beam":2.5}': ["--eval-bleu-args: beam is 2.5", "(int)"],
    '--eval-bleu --eval-bleu-args {"sampling":1}': ["sampling is 1; give true or false"],
    "--eval-bleu --eval-bleu-args [5]": ["--eval-bleu-args: [5] is no JSON dictionary"],
    "--eval-bleu --eval-bleu-args beam=5": ["--eval-bleu-args: beam=5 is no JSON dictionary"],
    "--eval-bleu --eval-bleu-detok mose": ["'mose' is no tokeniser", "moses"],
    "--eval-bleu --eval-bleu-detok-args no": ["--eval-bleu-detok-args: no is no JSON"],
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


def test_a_width_of_the_encoder_alone_is_said(corpus, tmp_path):
    arch = "transformer_standard_unshared"
    words = training(corpus, tmp_path, *family(arch), "--max-update", 1, "--no-save")
    for both_sides in (True, False):
        done = run(tmp_path, "train", *words, "--encoder-embed-dim", 16).good()
        said = [line for line in done.output.splitlines() if "the decoder keeps" in line]
        assert len(said) == (0 if both_sides else 2), done.output
        for flag in ("--decoder-embed-dim", "--decoder-ffn-embed-dim"):
            if both_sides:
                del words[words.index(flag) : words.index(flag) + 2]
    assert f"--encoder-embed-dim 16: the decoder keeps 512, which --arch {arch} has" in said[0]
    assert "--decoder-ffn-embed-dim changes it" in said[1]


@pytest.mark.parametrize("flags", OF_VALIDATION)
def test_wrong_values_of_validation_bleu_are_refused_before_training(flags, corpus, tmp_path):
    result = train(corpus, tmp_path, ARCH, *flags.split(), "--max-update", 1)
    assert_explained(result, *OF_VALIDATION[flags])


@pytest.mark.parametrize("metric", ["wps", "aux2_loss", "num_updates"])
def test_a_metric_that_no_validation_logs_is_refused_before_training(metric, corpus, tmp_path):
    result = train(corpus, tmp_path, AUXILIARY, "--best-checkpoint-metric", metric)
    assert_explained(result, f"--best-checkpoint-metric {metric}: no validation", "aux1_nll_loss")
    assert not list(tmp_path.glob("*.pt")) and not (tmp_path / "run.json").exists()


def test_a_metric_that_is_logged_changes_no_parameter(corpus, tmp_path):
    """All names of a validation are known before the first one."""
    train(corpus, tmp_path / "loss", AUXILIARY, "--max-update", 3).good()
    for metric in ("aux1_ppl", "bleu_aux1 --maximize-best-checkpoint-metric"):
        flags = ["--eval-bleu", "--eval-bleu-decoders", "main,aux:1", "--max-update", 3]
        flags += ["--best-checkpoint-metric", *metric.split()]
        train(corpus, tmp_path / metric, AUXILIARY, *flags).good()
        ours, theirs = load(tmp_path / "loss"), load(tmp_path / metric)
        assert same(ours["model"], theirs["model"])


def test_misspelt_and_idle_settings_in_a_file_of_hydra(corpus, tmp_path):
    model = {"encoder_layer": 2, "dc_kernel_sice": 3, "xagg_iterations": 2}
    result = hydra(corpus, tmp_path, **model)
    assert result.code == 1 and "Traceback" not in result.errors
    (sentences,) = result.errors.split("error: ")[1:]
    assert "model.encoder_layer: transformer_ms_aux has no such setting. Did you mean" in sentences
    assert "model.dc_kernel_sice" in sentences and "'dc_kernel_size'" in sentences
    assert "model.xagg_iterations: is for cross_aggregation self-attention" in sentences


def test_a_sentence_names_hydras_settings(corpus, tmp_path):
    result = hydra(corpus, tmp_path, encoder_attention_heads=3)
    assert_explained(
        result, "model.encoder_attention_heads: 3 heads do not divide model.encoder_embed_dim 8"
    )
    metric = "checkpoint.best_checkpoint_metric=accuracy"
    result = hydra(corpus, tmp_path, metric)
    assert_explained(result, f"{metric.replace('=', ' ')}: is better when it is higher")


def test_the_best_are_kept_and_a_lost_last_one_is_no_loss(corpus, tmp_path):
    """c20, c54, c56: with a rate that makes validations worse and better."""
    save, flags = tmp_path / "save", ["--keep-best-checkpoints", 3, "--lr", 0.3]
    losses = train(corpus, save, ARCH, *flags, "--max-epoch", 4).good().logged("valid_loss")
    assert losses != sorted(losses, reverse=True)  # fairseq keeps what is better than all before
    kept = sorted(path.name.split("_")[-1][:-4] for path in save.glob("checkpoint.best_loss_*.pt"))
    assert sorted(map(float, kept)) == sorted(losses)[:3]

    lock_folder(str(save))
    refused = train(corpus, save, ARCH, *flags, "--max-epoch", 5)
    assert_explained(refused, f"--save-dir {save}", "another training")

    one = tmp_path / "one"  # as a disk leaves it that was full before checkpoint_last.pt
    one.mkdir()
    first = (save / "checkpoint1.pt").read_bytes()
    (one / "checkpoint1.pt").write_bytes(first)
    again = train(corpus, one, ARCH, *flags, "--max-epoch", 2).good()
    assert "continuing from checkpoint1.pt" in again.output
    assert again.logged("valid_loss") == losses[1:2]
    assert (one / "checkpoint1.pt").read_bytes() == first
    updates = [load(each)["optimizer_history"][-1]["num_updates"] for each in (one, save)]
    assert updates[1] == 2 * updates[0]


def test_flags_of_decoding_do_what_they_say(corpus, lively, tmp_path):
    """c51, c40b, c60, --num-shards."""
    checkpoint = lively("transformer_standard")

    def generate(*flags):
        words = generation(corpus, checkpoint, "transformer_standard", "--beam", 1, *flags)
        words += ["--gen-subset", "test1"]
        return run(tmp_path, "generate", *words)

    def repeats(result):
        texts = [text.split() for _, text in result.good().hypotheses().values()]
        pairs = [list(pairwise(text)) for text in texts]
        return sum(len(each) - len(set(each)) for each in pairs)

    forced = ["--min-len", 12]
    assert repeats(generate(*forced)) > 0
    assert repeats(generate(*forced, "--no-repeat-ngram-size", 2)) == 0
    sampled = [*forced, "--sampling", "--no-repeat-ngram-size", 2]
    assert repeats(generate(*sampled)) == 0
    assert_explained(generate("--num-shards", 2), "--num-shards")
    other = generate("--source-lang", TARGET, "--target-lang", SOURCE)
    assert_explained(other, checkpoint, f"from {SOURCE} to {TARGET}")
    reverse = ["--source-lang", TARGET, "--target-lang", SOURCE, "--max-tokens", 80, "--cpu"]
    task = ["--task", "translation_dc_nmt", "--valid-subset", "test"]
    other = run(tmp_path, "validate", corpus, "--path", checkpoint, *task, *reverse)
    assert_explained(other, checkpoint, f"from {SOURCE} to {TARGET}")
