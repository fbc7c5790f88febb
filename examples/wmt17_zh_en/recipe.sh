#!/usr/bin/env bash
# Made by: dc-nmt run wmt17_zh_en --any-counts --dry-run
# Run it with the environment's programs on PATH, such as: SEED=2 bash FILE
# shellcheck disable=SC2046,SC2086
set -euo pipefail
DATA=${DATA:-runs/wmt17_zh_en/data} # the prepared text
OUT=${OUT:-runs/wmt17_zh_en} # the runs
SEED=${SEED:-1}
GPUS=${GPUS:-$(python -c "import torch; print(torch.cuda.device_count())")} # 0: the CPU
PROCESSES=$((GPUS > 0 ? GPUS : 1))
CPU=$([ "$GPUS" -gt 0 ] || python -c "from dc_nmt_plugin import machine; print('--cpu', '--amp' if machine.multiplies_bfloat16() else '')")
[ "$GPUS" -gt 0 ] || export CUDA_VISIBLE_DEVICES=
USER_DIR=$(python -c "import dc_nmt_plugin as plugin; print(plugin.__path__[0])")

# text of wmt17_zh_en
if [ ! -e "$DATA/raw/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/raw/"
dc-nmt recipe text wmt17_zh_en --work "$DATA/corpora" --downloads runs/downloads --any-counts \
  --out "$DATA/raw"
touch "$DATA/raw/.done"
fi

# learn and apply BPE (32000 operations)
if [ ! -e "$DATA/bpe-separate/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bpe-separate/"
subword-nmt learn-bpe -s 32000 -i "$DATA/raw/tokenised/train.zh" -o "$DATA/bpe-separate/codes.zh"
subword-nmt apply-bpe -c "$DATA/bpe-separate/codes.zh" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/train.zh" -o "$DATA/bpe-separate/train.zh"
subword-nmt apply-bpe -c "$DATA/bpe-separate/codes.zh" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/valid.zh" -o "$DATA/bpe-separate/valid.zh"
subword-nmt apply-bpe -c "$DATA/bpe-separate/codes.zh" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/test.zh" -o "$DATA/bpe-separate/test.zh"
subword-nmt learn-bpe -s 32000 -i "$DATA/raw/tokenised/train.en" -o "$DATA/bpe-separate/codes.en"
subword-nmt apply-bpe -c "$DATA/bpe-separate/codes.en" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/train.en" -o "$DATA/bpe-separate/train.en"
subword-nmt apply-bpe -c "$DATA/bpe-separate/codes.en" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/valid.en" -o "$DATA/bpe-separate/valid.en"
subword-nmt apply-bpe -c "$DATA/bpe-separate/codes.en" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/test.en" -o "$DATA/bpe-separate/test.en"
dc-nmt check-text --counts "$DATA/raw/tokenised/train.zh" "$DATA/bpe-separate/train.zh" \
  "$DATA/raw/tokenised/train.en" "$DATA/bpe-separate/train.en" "$DATA/raw/tokenised/valid.zh" \
  "$DATA/bpe-separate/valid.zh" "$DATA/raw/tokenised/valid.en" "$DATA/bpe-separate/valid.en" \
  "$DATA/raw/tokenised/test.zh" "$DATA/bpe-separate/test.zh" "$DATA/raw/tokenised/test.en" \
  "$DATA/bpe-separate/test.en"
dc-nmt recipe clean "$DATA/bpe-separate" zh en 1023 0
touch "$DATA/bpe-separate/.done"
fi

# fairseq-preprocess
if [ ! -e "$DATA/bin-separate/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bin-separate/"
rm -f "$DATA/bin-separate/dict.zh.txt" "$DATA/bin-separate/dict.en.txt"
fairseq-preprocess --source-lang zh --target-lang en --trainpref "$DATA/bpe-separate/train" \
  --validpref "$DATA/bpe-separate/valid" --testpref "$DATA/bpe-separate/test" \
  --workers "$(nproc)" --destdir "$DATA/bin-separate"
dc-nmt check-text --counts "$DATA/bpe-separate/train.zh" "$DATA/bin-separate/train.zh-en.zh.idx" \
  "$DATA/bpe-separate/train.en" "$DATA/bin-separate/train.zh-en.en.idx" \
  "$DATA/bpe-separate/valid.zh" "$DATA/bin-separate/valid.zh-en.zh.idx" \
  "$DATA/bpe-separate/valid.en" "$DATA/bin-separate/valid.zh-en.en.idx" \
  "$DATA/bpe-separate/test.zh" "$DATA/bin-separate/test.zh-en.zh.idx" \
  "$DATA/bpe-separate/test.en" "$DATA/bin-separate/test.zh-en.en.idx"
touch "$DATA/bin-separate/.done"
fi

# learn and apply BPE (32000 operations)
if [ ! -e "$DATA/bpe-under50/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bpe-under50/"
subword-nmt learn-bpe -s 32000 -i "$DATA/raw/tokenised/train.zh" -o "$DATA/bpe-under50/codes.zh"
subword-nmt apply-bpe -c "$DATA/bpe-under50/codes.zh" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/train.zh" -o "$DATA/bpe-under50/train.zh"
subword-nmt apply-bpe -c "$DATA/bpe-under50/codes.zh" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/valid.zh" -o "$DATA/bpe-under50/valid.zh"
subword-nmt apply-bpe -c "$DATA/bpe-under50/codes.zh" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/test.zh" -o "$DATA/bpe-under50/test.zh"
subword-nmt learn-bpe -s 32000 -i "$DATA/raw/tokenised/train.en" -o "$DATA/bpe-under50/codes.en"
subword-nmt apply-bpe -c "$DATA/bpe-under50/codes.en" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/train.en" -o "$DATA/bpe-under50/train.en"
subword-nmt apply-bpe -c "$DATA/bpe-under50/codes.en" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/valid.en" -o "$DATA/bpe-under50/valid.en"
subword-nmt apply-bpe -c "$DATA/bpe-under50/codes.en" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/test.en" -o "$DATA/bpe-under50/test.en"
dc-nmt check-text --counts "$DATA/raw/tokenised/train.zh" "$DATA/bpe-under50/train.zh" \
  "$DATA/raw/tokenised/train.en" "$DATA/bpe-under50/train.en" "$DATA/raw/tokenised/valid.zh" \
  "$DATA/bpe-under50/valid.zh" "$DATA/raw/tokenised/valid.en" "$DATA/bpe-under50/valid.en" \
  "$DATA/raw/tokenised/test.zh" "$DATA/bpe-under50/test.zh" "$DATA/raw/tokenised/test.en" \
  "$DATA/bpe-under50/test.en"
dc-nmt recipe clean "$DATA/bpe-under50" zh en 0 0 49
touch "$DATA/bpe-under50/.done"
fi

# fairseq-preprocess
if [ ! -e "$DATA/bin-under50/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bin-under50/"
rm -f "$DATA/bin-under50/dict.zh.txt" "$DATA/bin-under50/dict.en.txt"
fairseq-preprocess --source-lang zh --target-lang en --trainpref "$DATA/bpe-under50/train" \
  --validpref "$DATA/bpe-under50/valid" --testpref "$DATA/bpe-under50/test" --workers "$(nproc)" \
  --destdir "$DATA/bin-under50"
dc-nmt check-text --counts "$DATA/bpe-under50/train.zh" "$DATA/bin-under50/train.zh-en.zh.idx" \
  "$DATA/bpe-under50/train.en" "$DATA/bin-under50/train.zh-en.en.idx" \
  "$DATA/bpe-under50/valid.zh" "$DATA/bin-under50/valid.zh-en.zh.idx" \
  "$DATA/bpe-under50/valid.en" "$DATA/bin-under50/valid.zh-en.en.idx" "$DATA/bpe-under50/test.zh" \
  "$DATA/bin-under50/test.zh-en.zh.idx" "$DATA/bpe-under50/test.en" \
  "$DATA/bin-under50/test.zh-en.en.idx"
touch "$DATA/bin-under50/.done"
fi

RUN=$OUT/transformer_ctxaware_unshared-s$SEED
UPDATE_FREQ=$(((32768 + PROCESSES * 4096 - 1) / (PROCESSES * 4096)))
MAX_TOKENS=$((32768 / (PROCESSES * UPDATE_FREQ)))
# wmt17_zh_en: WMT 2017 Chinese-English
# Context-aware self-attention, "Setup": 8 GPUs with 4,096 tokens each, otherwise Vaswani et al.
# 2017 (from there: schedule, 100,000 updates of the base size, beam 4, length penalty 0.6).
# Parameter counts say that no embeddings are shared. Chosen: mean of the last 5 checkpoints.

# transformer_ctxaware_unshared: train 100,000 updates
mkdir -p "$RUN/"
fairseq-train "$DATA/bin-separate" --user-dir "$USER_DIR" --arch transformer_ctxaware_unshared \
  --task transformer_ctxaware --criterion transformer_ctxaware --source-lang zh --target-lang en \
  --max-update 100000 --save-interval-updates 2000 --keep-interval-updates 5 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 \
  --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 7e-4 \
  --lr-scheduler inverse_sqrt --warmup-updates 4000 --warmup-init-lr 1e-7 \
  --max-tokens "$MAX_TOKENS" --update-freq "$UPDATE_FREQ" --seed "$SEED" \
  --distributed-world-size "$PROCESSES" $CPU --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_ctxaware_unshared: average the last 5 checkpoints
mkdir -p "$RUN/average/"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_ctxaware_unshared: translate the test set
mkdir -p "$RUN/generate/"
fairseq-generate "$DATA/bin-separate" --user-dir "$USER_DIR" --task transformer_ctxaware \
  --source-lang zh --target-lang en --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 4 --lenpen 0.6 --length-penalty wu --max-len-a 1 \
  --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# transformer_ctxaware_unshared: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.zh" --reference "$DATA/raw/test.en" --source-lang zh --target-lang en \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.en" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.en" --out "$RUN/run.json"

RUN=$OUT/transformer_cross_agg_sum_unshared-s$SEED
UPDATE_FREQ=$(((24576 + PROCESSES * 2048 - 1) / (PROCESSES * 2048)))
MAX_TOKENS=$((24576 / (PROCESSES * UPDATE_FREQ)))
# wmt17_zh_en: WMT 2017 Chinese-English
# Cross aggregation, 4.1: 2,048 tokens, 12 times accumulated (24,576; twice that if it is meant
# for each of its two GPUs), otherwise Vaswani et al. 2017 (from there: schedule, 100,000
# updates, beam 4, length penalty 0.6). Chosen: mean of the last 5 checkpoints.

# transformer_cross_agg_sum_unshared: train 100,000 updates
mkdir -p "$RUN/"
fairseq-train "$DATA/bin-under50" --user-dir "$USER_DIR" \
  --arch transformer_cross_agg_sum_unshared --task transformer_cross_agg \
  --criterion transformer_cross_agg --source-lang zh --target-lang en --max-update 100000 \
  --save-interval-updates 2000 --keep-interval-updates 5 --no-epoch-checkpoints --log-format json \
  --log-interval 10 --dropout 0.1 --label-smoothing 0.1 --optimizer adam \
  --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 7e-4 --lr-scheduler inverse_sqrt \
  --warmup-updates 4000 --warmup-init-lr 1e-7 \
  --max-tokens "$MAX_TOKENS" --update-freq "$UPDATE_FREQ" --seed "$SEED" \
  --distributed-world-size "$PROCESSES" $CPU --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_cross_agg_sum_unshared: average the last 5 checkpoints
mkdir -p "$RUN/average/"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_cross_agg_sum_unshared: translate the test set
mkdir -p "$RUN/generate/"
fairseq-generate "$DATA/bin-under50" --user-dir "$USER_DIR" --task transformer_cross_agg \
  --source-lang zh --target-lang en --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 4 --lenpen 0.6 --length-penalty wu --max-len-a 1 \
  --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# transformer_cross_agg_sum_unshared: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.zh" --reference "$DATA/raw/test.en" --source-lang zh --target-lang en \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.en" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.en" --out "$RUN/run.json"
