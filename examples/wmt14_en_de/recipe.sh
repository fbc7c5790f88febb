#!/usr/bin/env bash
# Made by: dc-nmt run wmt14_en_de --dry-run
# Run it with the environment's programs on PATH, such as: SEED=2 bash FILE
# shellcheck disable=SC2046,SC2086
set -euo pipefail
DATA=${DATA:-runs/wmt14_en_de/data} # the prepared text
OUT=${OUT:-runs/wmt14_en_de} # the runs
SEED=${SEED:-1}
USER_DIR=$(python -c "import dc_nmt_plugin as plugin; print(plugin.__path__[0])")
GPUS=${GPUS:-$(python -c "import torch; print(torch.cuda.device_count())")} # 0: the CPU
PROCESSES=$((GPUS > 0 ? GPUS : 1))
CPU=$([ "$GPUS" -gt 0 ] || python -c "from dc_nmt_plugin import machine; print('--cpu', '--amp' if machine.multiplies_bfloat16() else '')")
[ "$GPUS" -gt 0 ] || export CUDA_VISIBLE_DEVICES=
# lock FOLDER: waits for another job in it
lock() { mkdir -p "$1"; exec 9> "$1/.lock"; ! command -v flock > /dev/null || flock 9; }
# made FOLDER STAMP: is the folder whole, and of the same settings? Ends if it is somebody's
made() {
  [ -e "$1/.stamp" ] || [ -z "$(ls -A "$1" 2> /dev/null)" ] ||
    { echo "$1: is somebody's, and would be replaced; move it, or change OUT" >&2; exit 1; }
  [ "$(cat "$1/.stamp" 2> /dev/null)" = "$2" ]
}
# begin FOLDER, finish FOLDER [STAMP]: the folder gets its name when it is whole
begin() { TO=$1.part; rm -rf "$TO"; mkdir -p "$TO"; }
finish() {
  [ -z "${2:-}" ] || echo "$2" > "$TO/.stamp"
  rm -rf "$1"
  mv "$TO.log" "$1.log"
  mv "$TO" "$1"
}
# In an array of Slurm, each job has one of the runs: sbatch --array=0-3 FILE
# After them, one more prints the table: sbatch --dependency=afterany:JOB --array=4 FILE
# wanted NUMBER: tells whether this is the job of a run; without an array, all are
wanted() { [ "${SLURM_ARRAY_TASK_ID:-$1}" = "$1" ]; }
FAILED=
# ended STATUS NAME: a run that failed does not stop the others
ended() { [ "$1" = 0 ] || FAILED+=" $2"; set -e; }

WORKERS=$(python -c "from dc_nmt_plugin import machine; print(machine.usable_cpus())") # processes of BPE and binarisation
lock "$DATA"

# text of wmt14_en_de
if ! made "$DATA/raw" cd80dc8175a73ca4; then
begin "$DATA/raw"
dc-nmt recipe text wmt14_en_de --work "$DATA/corpora" --downloads runs/downloads --out "$TO" 2>&1 |
  tee "$TO.log"
finish "$DATA/raw" cd80dc8175a73ca4
fi

# learn and apply BPE (32000 operations)
if ! made "$DATA/bpe" 818970d44feacfdb; then
begin "$DATA/bpe"
{
cat "$DATA/raw/tokenised/train.en" "$DATA/raw/tokenised/train.de" > "$TO/both"
subword-nmt learn-bpe -s 32000 -i "$TO/both" -o "$TO/codes"
rm "$TO/both"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/train.en" \
  -o "$TO/train.en"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/valid.en" \
  -o "$TO/valid.en"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/test.en" \
  -o "$TO/test.en"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/train.de" \
  -o "$TO/train.de"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/valid.de" \
  -o "$TO/valid.de"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/test.de" \
  -o "$TO/test.de"
dc-nmt check-text --counts "$DATA/raw/tokenised/train.en" "$TO/train.en" \
  "$DATA/raw/tokenised/train.de" "$TO/train.de" "$DATA/raw/tokenised/valid.en" "$TO/valid.en" \
  "$DATA/raw/tokenised/valid.de" "$TO/valid.de" "$DATA/raw/tokenised/test.en" "$TO/test.en" \
  "$DATA/raw/tokenised/test.de" "$TO/test.de"
dc-nmt recipe clean "$TO" en de 200 0
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bpe" 818970d44feacfdb
fi

# fairseq-preprocess
if ! made "$DATA/bin" 818970d44feacfdb; then
begin "$DATA/bin"
{
fairseq-preprocess --source-lang en --target-lang de --joined-dictionary \
  --trainpref "$DATA/bpe/train" --validpref "$DATA/bpe/valid" --testpref "$DATA/bpe/test" \
  --workers "$WORKERS" --destdir "$TO"
dc-nmt check-text --counts "$DATA/bpe/train.en" "$TO/train.en-de.en.idx" "$DATA/bpe/train.de" \
  "$TO/train.en-de.de.idx" "$DATA/bpe/valid.en" "$TO/valid.en-de.en.idx" "$DATA/bpe/valid.de" \
  "$TO/valid.en-de.de.idx" "$DATA/bpe/test.en" "$TO/test.en-de.en.idx" "$DATA/bpe/test.de" \
  "$TO/test.en-de.de.idx"
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bin" 818970d44feacfdb
fi

# learn and apply BPE (32000 operations)
if ! made "$DATA/bpe-separate" 6dd6413b3419eb28; then
begin "$DATA/bpe-separate"
{
cat "$DATA/raw/tokenised/train.en" "$DATA/raw/tokenised/train.de" > "$TO/both"
subword-nmt learn-bpe -s 32000 -i "$TO/both" -o "$TO/codes"
rm "$TO/both"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/train.en" \
  -o "$TO/train.en"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/valid.en" \
  -o "$TO/valid.en"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/test.en" \
  -o "$TO/test.en"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/train.de" \
  -o "$TO/train.de"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/valid.de" \
  -o "$TO/valid.de"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/test.de" \
  -o "$TO/test.de"
dc-nmt check-text --counts "$DATA/raw/tokenised/train.en" "$TO/train.en" \
  "$DATA/raw/tokenised/train.de" "$TO/train.de" "$DATA/raw/tokenised/valid.en" "$TO/valid.en" \
  "$DATA/raw/tokenised/valid.de" "$TO/valid.de" "$DATA/raw/tokenised/test.en" "$TO/test.en" \
  "$DATA/raw/tokenised/test.de" "$TO/test.de"
dc-nmt recipe clean "$TO" en de 1023 0
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bpe-separate" 6dd6413b3419eb28
fi

# fairseq-preprocess
if ! made "$DATA/bin-separate" 6dd6413b3419eb28; then
begin "$DATA/bin-separate"
{
fairseq-preprocess --source-lang en --target-lang de --trainpref "$DATA/bpe-separate/train" \
  --validpref "$DATA/bpe-separate/valid" --testpref "$DATA/bpe-separate/test" \
  --workers "$WORKERS" --destdir "$TO"
dc-nmt check-text --counts "$DATA/bpe-separate/train.en" "$TO/train.en-de.en.idx" \
  "$DATA/bpe-separate/train.de" "$TO/train.en-de.de.idx" "$DATA/bpe-separate/valid.en" \
  "$TO/valid.en-de.en.idx" "$DATA/bpe-separate/valid.de" "$TO/valid.en-de.de.idx" \
  "$DATA/bpe-separate/test.en" "$TO/test.en-de.en.idx" "$DATA/bpe-separate/test.de" \
  "$TO/test.en-de.de.idx"
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bin-separate" 6dd6413b3419eb28
fi

if wanted 0; then
set +e
(
set -e

RUN=$OUT/transformer_dc-s$SEED
UPDATE_FREQ=$(((4960 + PROCESSES * 4960 - 1) / (PROCESSES * 4960)))
MAX_TOKENS=$((4960 / (PROCESSES * UPDATE_FREQ)))
# wmt14_en_de: WMT 2014 English-German
# Dual contextual module, 5.2 and 5.3; thesis, 3.3, 4.3 and 5.4: base size, 4,960 tokens,
# 160,000 updates, one cosine cycle with warm-up, beam 4, length penalty 0.6. Chosen: peak
# learning rate, warm-up, clipping, mean of the last 5 checkpoints, longest output.
lock "$RUN"

# transformer_dc: train 160,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_dc --task transformer_dc \
  --criterion transformer_dc --source-lang en --target-lang de --max-update 160000 \
  --save-interval-updates 10000 --keep-interval-updates 5 --no-epoch-checkpoints \
  --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 --clip-norm 1.0 \
  --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 7e-4 --lr-scheduler cosine \
  --warmup-updates 4000 --max-tokens "$MAX_TOKENS" --update-freq "$UPDATE_FREQ" --seed "$SEED" \
  --distributed-world-size "$PROCESSES" $CPU --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_dc: average the last 5 checkpoints
begin "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$TO/checkpoint.pt" 2>&1 |
  tee "$TO.log"
finish "$RUN/average"

# transformer_dc: translate the test set
begin "$RUN/generate"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_dc --source-lang en \
  --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test --results-path "$TO" \
  --beam 4 --lenpen 0.6 --length-penalty wu --max-len-a 1 --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$TO.log"
finish "$RUN/generate"

# transformer_dc: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses-a --tokenized-reference "$DATA/raw/tokenised/test.de" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json" 2>&1 |
  tee "$RUN/score.log"
)
ended $? "transformer_dc-s$SEED"
fi

if wanted 1; then
set +e
(
set -e

RUN=$OUT/transformer_ctxaware_unshared-s$SEED
UPDATE_FREQ=$(((32768 + PROCESSES * 4096 - 1) / (PROCESSES * 4096)))
MAX_TOKENS=$((32768 / (PROCESSES * UPDATE_FREQ)))
# wmt14_en_de: WMT 2014 English-German
# Context-aware self-attention, "Setup": 8 GPUs with 4,096 tokens each, otherwise Vaswani et al.
# 2017 (from there: schedule, 100,000 updates of the base size, beam 4, length penalty 0.6).
# Parameter counts say that no embeddings are shared. Chosen: mean of the last 5 checkpoints.
lock "$RUN"

# transformer_ctxaware_unshared: train 100,000 updates
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
begin "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$TO/checkpoint.pt" 2>&1 |
  tee "$TO.log"
finish "$RUN/average"

# transformer_ctxaware_unshared: translate the test set
begin "$RUN/generate"
fairseq-generate "$DATA/bin-separate" --user-dir "$USER_DIR" --task transformer_ctxaware \
  --source-lang en --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$TO" --beam 4 --lenpen 0.6 --length-penalty wu --max-len-a 1 --max-len-b 50 \
  --max-tokens 4096 2>&1 |
  tee "$TO.log"
finish "$RUN/generate"

# transformer_ctxaware_unshared: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses-a --tokenized-reference "$DATA/raw/tokenised/test.de" --paper multi-bleu \
  --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json" 2>&1 |
  tee "$RUN/score.log"
)
ended $? "transformer_ctxaware_unshared-s$SEED"
fi

if wanted 2; then
set +e
(
set -e

RUN=$OUT/transformer_cross_agg_sum-s$SEED
UPDATE_FREQ=$(((24576 + PROCESSES * 2048 - 1) / (PROCESSES * 2048)))
MAX_TOKENS=$((24576 / (PROCESSES * UPDATE_FREQ)))
# wmt14_en_de: WMT 2014 English-German
# Cross aggregation, 4.1: 2,048 tokens, 12 times accumulated (24,576; twice that if it is meant
# for each of its two GPUs), otherwise Vaswani et al. 2017 (from there: schedule, 100,000
# updates, beam 4, length penalty 0.6). Chosen: mean of the last 5 checkpoints.
lock "$RUN"

# transformer_cross_agg_sum: train 100,000 updates
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
begin "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$TO/checkpoint.pt" 2>&1 |
  tee "$TO.log"
finish "$RUN/average"

# transformer_cross_agg_sum: translate the test set
begin "$RUN/generate"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_cross_agg --source-lang en \
  --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test --results-path "$TO" \
  --beam 4 --lenpen 0.6 --length-penalty wu --max-len-a 1 --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$TO.log"
finish "$RUN/generate"

# transformer_cross_agg_sum: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses-a --tokenized-reference "$DATA/raw/tokenised/test.de" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json" 2>&1 |
  tee "$RUN/score.log"
)
ended $? "transformer_cross_agg_sum-s$SEED"
fi

if wanted 3; then
set +e
(
set -e

RUN=$OUT/transformer_mlmha-s$SEED
UPDATE_FREQ=$(((4960 + PROCESSES * 4960 - 1) / (PROCESSES * 4960)))
MAX_TOKENS=$((4960 / (PROCESSES * UPDATE_FREQ)))
# wmt14_en_de: WMT 2014 English-German
# Dual contextual module, 5.2 and 5.3; thesis, 3.3, 4.3 and 5.4: base size, 4,960 tokens,
# 160,000 updates, one cosine cycle with warm-up, beam 4, length penalty 0.6. Chosen: peak
# learning rate, warm-up, clipping, mean of the last 5 checkpoints, longest output.
lock "$RUN"

# transformer_mlmha: train 160,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_mlmha \
  --task transformer_mlmha --criterion transformer_mlmha --source-lang en --target-lang de \
  --max-update 160000 --save-interval-updates 10000 --keep-interval-updates 5 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 \
  --clip-norm 1.0 --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 7e-4 \
  --lr-scheduler cosine --warmup-updates 4000 --max-tokens "$MAX_TOKENS" \
  --update-freq "$UPDATE_FREQ" --seed "$SEED" --distributed-world-size "$PROCESSES" $CPU \
  --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_mlmha: average the last 5 checkpoints
begin "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$TO/checkpoint.pt" 2>&1 |
  tee "$TO.log"
finish "$RUN/average"

# transformer_mlmha: translate the test set
begin "$RUN/generate"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_mlmha --source-lang en \
  --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test --results-path "$TO" \
  --beam 4 --lenpen 0.6 --length-penalty wu --max-len-a 1 --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$TO.log"
finish "$RUN/generate"

# transformer_mlmha: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses-a --tokenized-reference "$DATA/raw/tokenised/test.de" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json" 2>&1 |
  tee "$RUN/score.log"
)
ended $? "transformer_mlmha-s$SEED"
fi

if wanted 4; then
set +e
(
set -e
dc-nmt results "$OUT/transformer_dc-s$SEED" "$OUT/transformer_ctxaware_unshared-s$SEED" \
  "$OUT/transformer_cross_agg_sum-s$SEED" "$OUT/transformer_mlmha-s$SEED" --finished
)
ended $? table
fi

[ -z "$FAILED" ] || { echo "failed:$FAILED" >&2; exit 1; }
