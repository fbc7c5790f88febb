"""Flags of fairseq whose values it does not check itself."""

from __future__ import annotations

# the least value; a flag's default, such as -1 for "off", is always allowed
AT_LEAST: dict[str, float] = {
    # batches and data
    "num_batch_buckets": 0,
    "max_tokens": 1,
    "max_tokens_valid": 1,
    "batch_size": 1,
    "batch_size_valid": 1,
    "required_batch_size_multiple": 1,
    "required_seq_len_multiple": 1,
    "num_workers": 0,
    "data_buffer_size": 0,
    "max_source_positions": 1,
    "max_target_positions": 1,
    "tokens_per_sample": 1,
    "upsample_primary": 1,
    "num_shards": 1,
    "shard_id": 0,
    "max_valid_steps": 1,
    "curriculum": 0,
    "buffer_size": 1,
    # training
    "max_epoch": 1,
    "max_update": 1,
    "stop_time_hours": 0,
    "clip_norm": 0,
    "weight_decay": 0,
    "warmup_updates": 0,
    "patience": 1,
    "log_interval": 1,
    "validate_interval": 1,
    "validate_interval_updates": 0,
    "validate_after_updates": 0,
    "save_interval": 1,
    "save_interval_updates": 0,
    "keep_interval_updates": 1,
    "keep_interval_updates_pattern": 1,
    "keep_last_epochs": 1,
    "keep_best_checkpoints": 1,
    "checkpoint_shard_count": 1,
    "distributed_world_size": 1,
    "distributed_rank": 0,
    "empty_cache_freq": 0,
    "fp16_scale_window": 1,
    "amp_scale_window": 1,
    # decoding
    "beam": 1,
    "nbest": 1,
    "min_len": 0,
    "max_len_a": 0,
    "max_len_b": 0,
    "prefix_size": 0,
    "no_repeat_ngram_size": 0,
    "sampling_topk": 1,
    "diverse_beam_groups": 1,
    "diversity_rate": 0,
    "diverse_beam_strength": 0,
    "context_window": 0,
    "softmax_batch": 1,
}
# (low, high, whether low itself is allowed, whether high is)
INTERVALS: dict[str, tuple[float, float, bool, bool]] = {
    "label_smoothing": (0, 1, True, False),
    "sampling_topp": (0, 1, False, True),
    "adadelta_rho": (0, 1, True, False),
    "momentum": (0, 1, True, False),
    "lr_shrink": (0, 1, False, True),
    "seed": (0, 2**32 - 1, True, True),
    "fixed_validation_seed": (0, 2**32 - 1, True, True),
}
ABOVE_ZERO = ("adam_eps", "adadelta_eps", "adamax_eps", "temperature")
# lists, a value an epoch
EACH_AT_LEAST = {"update_freq": 1, "lr": 0}
# pairs that are evaluated
BETAS = ("adam_betas", "adamax_betas", "lamb_betas")
# the memory-efficient ones first: fairseq switches on the plain ones with them
HALF_PRECISION = ("memory_efficient_fp16", "memory_efficient_bf16", "fp16", "bf16")
# marks of pieces that fairseq can remove (--remove-bpe, --eval-bleu-remove-bpe)
POST_PROCESS = (
    *("subword_nmt", "@@ ", "@@", "sentencepiece", "wordpiece", "letter", "silence", "_EOW"),
    "none",
)
# --bpe → the file it needs
BPE_FILES = {
    "subword_nmt": "bpe_codes",
    "fastbpe": "bpe_codes",
    "sentencepiece": "sentencepiece_model",
}
# of the iterative decoders of non-autoregressive models alone
ITERATIVE = (
    "print_step",
    "retain_iter_history",
    "iter_decode_with_external_reranker",
    "iter_decode_force_max_iter",
)
# measured in every validation; bleu with --eval-bleu, accuracy with --report-accuracy
METRICS = ("loss", "nll_loss", "ppl", "accuracy", "bleu")
