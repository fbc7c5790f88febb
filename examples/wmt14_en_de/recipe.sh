#!/usr/bin/env bash
# Made by: dc-nmt run wmt14_en_de --dry-run
# Run it with the environment's programs on PATH, such as: SEED=2 bash FILE
# shellcheck disable=SC2046,SC2086
set -euo pipefail
DATA=${DATA:-runs/wmt14_en_de/data} # the prepared text
OUT=${OUT:-runs/wmt14_en_de} # the runs
SEED=${SEED:-1}
GPUS=${GPUS:-$(python -c "import torch; print(torch.cuda.device_count())")} # 0: the CPU
PROCESSES=$((GPUS > 0 ? GPUS : 1))
CPU=$([ "$GPUS" -gt 0 ] || python -c "from dc_nmt_plugin import machine; print('--cpu', '--amp' if machine.multiplies_bfloat16() else '')")
[ "$GPUS" -gt 0 ] || export CUDA_VISIBLE_DEVICES=
USER_DIR=$(python -c "import dc_nmt_plugin as plugin; print(plugin.__path__[0])")

# text of wmt14_en_de
if [ ! -e "$DATA/raw/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/raw/"
dc-nmt recipe text wmt14_en_de --work "$DATA/corpora" --downloads runs/downloads \
  --out "$DATA/raw"
touch "$DATA/raw/.done"
fi

# learn and apply BPE (32000 operations)
if [ ! -e "$DATA/bpe/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bpe/"
cat "$DATA/raw/tokenised/train.en" "$DATA/raw/tokenised/train.de" > "$DATA/bpe/both"
subword-nmt learn-bpe -s 32000 -i "$DATA/bpe/both" -o "$DATA/bpe/codes"
rm "$DATA/bpe/both"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/train.en" -o "$DATA/bpe/train.en"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/valid.en" -o "$DATA/bpe/valid.en"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/test.en" -o "$DATA/bpe/test.en"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/train.de" -o "$DATA/bpe/train.de"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/valid.de" -o "$DATA/bpe/valid.de"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/test.de" -o "$DATA/bpe/test.de"
dc-nmt check-text --counts "$DATA/raw/tokenised/train.en" "$DATA/bpe/train.en" \
  "$DATA/raw/tokenised/train.de" "$DATA/bpe/train.de" "$DATA/raw/tokenised/valid.en" \
  "$DATA/bpe/valid.en" "$DATA/raw/tokenised/valid.de" "$DATA/bpe/valid.de" \
  "$DATA/raw/tokenised/test.en" "$DATA/bpe/test.en" "$DATA/raw/tokenised/test.de" \
  "$DATA/bpe/test.de"
dc-nmt recipe clean "$DATA/bpe" en de 200 0
touch "$DATA/bpe/.done"
fi

# fairseq-preprocess
if [ ! -e "$DATA/bin/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bin/"
rm -f "$DATA/bin/dict.en.txt" "$DATA/bin/dict.de.txt"
fairseq-preprocess --source-lang en --target-lang de --joined-dictionary \
  --trainpref "$DATA/bpe/train" --validpref "$DATA/bpe/valid" --testpref "$DATA/bpe/test" \
  --workers "$(nproc)" --destdir "$DATA/bin"
dc-nmt check-text --counts "$DATA/bpe/train.en" "$DATA/bin/train.en-de.en.idx" \
  "$DATA/bpe/train.de" "$DATA/bin/train.en-de.de.idx" "$DATA/bpe/valid.en" \
  "$DATA/bin/valid.en-de.en.idx" "$DATA/bpe/valid.de" "$DATA/bin/valid.en-de.de.idx" \
  "$DATA/bpe/test.en" "$DATA/bin/test.en-de.en.idx" "$DATA/bpe/test.de" \
  "$DATA/bin/test.en-de.de.idx"
touch "$DATA/bin/.done"
fi

# learn and apply BPE (32000 operations)
if [ ! -e "$DATA/bpe-separate/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bpe-separate/"
cat "$DATA/raw/tokenised/train.en" "$DATA/raw/tokenised/train.de" > "$DATA/bpe-separate/both"
subword-nmt learn-bpe -s 32000 -i "$DATA/bpe-separate/both" -o "$DATA/bpe-separate/codes"
rm "$DATA/bpe-separate/both"
subword-nmt apply-bpe -c "$DATA/bpe-separate/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/train.en" -o "$DATA/bpe-separate/train.en"
subword-nmt apply-bpe -c "$DATA/bpe-separate/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/valid.en" -o "$DATA/bpe-separate/valid.en"
subword-nmt apply-bpe -c "$DATA/bpe-separate/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/test.en" -o "$DATA/bpe-separate/test.en"
subword-nmt apply-bpe -c "$DATA/bpe-separate/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/train.de" -o "$DATA/bpe-separate/train.de"
subword-nmt apply-bpe -c "$DATA/bpe-separate/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/valid.de" -o "$DATA/bpe-separate/valid.de"
subword-nmt apply-bpe -c "$DATA/bpe-separate/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/test.de" -o "$DATA/bpe-separate/test.de"
dc-nmt check-text --counts "$DATA/raw/tokenised/train.en" "$DATA/bpe-separate/train.en" \
  "$DATA/raw/tokenised/train.de" "$DATA/bpe-separate/train.de" "$DATA/raw/tokenised/valid.en" \
  "$DATA/bpe-separate/valid.en" "$DATA/raw/tokenised/valid.de" "$DATA/bpe-separate/valid.de" \
  "$DATA/raw/tokenised/test.en" "$DATA/bpe-separate/test.en" "$DATA/raw/tokenised/test.de" \
  "$DATA/bpe-separate/test.de"
dc-nmt recipe clean "$DATA/bpe-separate" en de 1023 0
touch "$DATA/bpe-separate/.done"
fi

# fairseq-preprocess
if [ ! -e "$DATA/bin-separate/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bin-separate/"
rm -f "$DATA/bin-separate/dict.en.txt" "$DATA/bin-separate/dict.de.txt"
fairseq-preprocess --source-lang en --target-lang de --trainpref "$DATA/bpe-separate/train" \
  --validpref "$DATA/bpe-separate/valid" --testpref "$DATA/bpe-separate/test" \
  --workers "$(nproc)" --destdir "$DATA/bin-separate"
dc-nmt check-text --counts "$DATA/bpe-separate/train.en" "$DATA/bin-separate/train.en-de.en.idx" \
  "$DATA/bpe-separate/train.de" "$DATA/bin-separate/train.en-de.de.idx" \
  "$DATA/bpe-separate/valid.en" "$DATA/bin-separate/valid.en-de.en.idx" \
  "$DATA/bpe-separate/valid.de" "$DATA/bin-separate/valid.en-de.de.idx" \
  "$DATA/bpe-separate/test.en" "$DATA/bin-separate/test.en-de.en.idx" \
  "$DATA/bpe-separate/test.de" "$DATA/bin-separate/test.en-de.de.idx"
touch "$DATA/bin-separate/.done"
fi

RUN=$OUT/transformer_dc-s$SEED
UPDATE_FREQ=$(((4960 + PROCESSES * 4960 - 1) / (PROCESSES * 4960)))
MAX_TOKENS=$((4960 / (PROCESSES * UPDATE_FREQ)))
# wmt14_en_de: WMT 2014 English-German
# Dual contextual module, 5.2 and 5.3; thesis, 3.3, 4.3 and 5.4: base size, 4,960 tokens,
# 160,000 updates, one cosine cycle with warm-up, beam 4, length penalty 0.6. Chosen: peak
# learning rate, warm-up, clipping, mean of the last 5 checkpoints, longest output.

# transformer_dc: train 160,000 updates
mkdir -p "$RUN/"
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_dc --task transformer_dc \
  --criterion transformer_dc --source-lang en --target-lang de --max-update 160000 \
  --save-interval-updates 10000 --keep-interval-updates 5 --no-epoch-checkpoints \
  --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 --clip-norm 1.0 \
  --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 7e-4 --lr-scheduler cosine \
  --warmup-updates 4000 --max-tokens "$MAX_TOKENS" --update-freq "$UPDATE_FREQ" --seed "$SEED" \
  --distributed-world-size "$PROCESSES" $CPU --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_dc: average the last 5 checkpoints
mkdir -p "$RUN/average/"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_dc: translate the test set
mkdir -p "$RUN/generate/"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_dc --source-lang en \
  --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 4 --lenpen 0.6 --length-penalty wu --max-len-a 1 \
  --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# transformer_dc: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses-a --tokenized-reference "$DATA/raw/tokenised/test.de" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json"

RUN=$OUT/transformer_ctxaware_unshared-s$SEED
UPDATE_FREQ=$(((32768 + PROCESSES * 4096 - 1) / (PROCESSES * 4096)))
MAX_TOKENS=$((32768 / (PROCESSES * UPDATE_FREQ)))
# wmt14_en_de: WMT 2014 English-German
# Context-aware self-attention, "Setup": 8 GPUs with 4,096 tokens each, otherwise Vaswani et al.
# 2017 (from there: schedule, 100,000 updates of the base size, beam 4, length penalty 0.6).
# Parameter counts say that no embeddings are shared. Chosen: mean of the last 5 checkpoints.

# transformer_ctxaware_unshared: train 100,000 updates
mkdir -p "$RUN/"
fairseq-train "$DATA/bin-separate" --user-dir "$USER_DIR" --arch transformer_ctxaware_unshared \
  --task transformer_ctxaware --criterion transformer_ctxaware --source-lang en --target-lang de \
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
  --source-lang en --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 4 --lenpen 0.6 --length-penalty wu --max-len-a 1 \
  --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# transformer_ctxaware_unshared: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses-a --tokenized-reference "$DATA/raw/tokenised/test.de" --paper multi-bleu \
  --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json"

RUN=$OUT/transformer_cross_agg_sum-s$SEED
UPDATE_FREQ=$(((24576 + PROCESSES * 2048 - 1) / (PROCESSES * 2048)))
MAX_TOKENS=$((24576 / (PROCESSES * UPDATE_FREQ)))
# wmt14_en_de: WMT 2014 English-German
# Cross aggregation, 4.1: 2,048 tokens, 12 times accumulated (24,576; twice that if it is meant
# for each of its two GPUs), otherwise Vaswani et al. 2017 (from there: schedule, 100,000
# updates, beam 4, length penalty 0.6). Chosen: mean of the last 5 checkpoints.

# transformer_cross_agg_sum: train 100,000 updates
mkdir -p "$RUN/"
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_cross_agg_sum \
  --task transformer_cross_agg --criterion transformer_cross_agg --source-lang en \
  --target-lang de --max-update 100000 --save-interval-updates 2000 --keep-interval-updates 5 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 \
  --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 7e-4 \
  --lr-scheduler inverse_sqrt --warmup-updates 4000 --warmup-init-lr 1e-7 \
  --max-tokens "$MAX_TOKENS" --update-freq "$UPDATE_FREQ" --seed "$SEED" \
  --distributed-world-size "$PROCESSES" $CPU --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_cross_agg_sum: average the last 5 checkpoints
mkdir -p "$RUN/average/"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_cross_agg_sum: translate the test set
mkdir -p "$RUN/generate/"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_cross_agg --source-lang en \
  --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 4 --lenpen 0.6 --length-penalty wu --max-len-a 1 \
  --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# transformer_cross_agg_sum: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses-a --tokenized-reference "$DATA/raw/tokenised/test.de" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json"

RUN=$OUT/transformer_mlmha-s$SEED
UPDATE_FREQ=$(((4960 + PROCESSES * 4960 - 1) / (PROCESSES * 4960)))
MAX_TOKENS=$((4960 / (PROCESSES * UPDATE_FREQ)))
# wmt14_en_de: WMT 2014 English-German
# Dual contextual module, 5.2 and 5.3; thesis, 3.3, 4.3 and 5.4: base size, 4,960 tokens,
# 160,000 updates, one cosine cycle with warm-up, beam 4, length penalty 0.6. Chosen: peak
# learning rate, warm-up, clipping, mean of the last 5 checkpoints, longest output.

# transformer_mlmha: train 160,000 updates
mkdir -p "$RUN/"
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_mlmha \
  --task transformer_mlmha --criterion transformer_mlmha --source-lang en --target-lang de \
  --max-update 160000 --save-interval-updates 10000 --keep-interval-updates 5 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 \
  --clip-norm 1.0 --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 7e-4 \
  --lr-scheduler cosine --warmup-updates 4000 \
  --max-tokens "$MAX_TOKENS" --update-freq "$UPDATE_FREQ" --seed "$SEED" \
  --distributed-world-size "$PROCESSES" $CPU --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_mlmha: average the last 5 checkpoints
mkdir -p "$RUN/average/"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_mlmha: translate the test set
mkdir -p "$RUN/generate/"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_mlmha --source-lang en \
  --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 4 --lenpen 0.6 --length-penalty wu --max-len-a 1 \
  --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# transformer_mlmha: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses-a --tokenized-reference "$DATA/raw/tokenised/test.de" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json"
