#!/usr/bin/env bash
# Made by: dc-nmt run wmt17_zh_en --any-counts --dry-run
# Run it with the environment's programs on PATH, such as: SEED=2 bash FILE
# shellcheck disable=SC2046,SC2086
set -euo pipefail
DATA=${DATA:-runs/wmt17_zh_en/data} # the prepared text
OUT=${OUT:-runs/wmt17_zh_en} # the runs
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
# In an array of Slurm, each job has one of the runs: sbatch --array=0-1 FILE
# After them, one more prints the table: sbatch --dependency=afterany:JOB --array=2 FILE
# wanted NUMBER: tells whether this is the job of a run; without an array, all are
wanted() { [ "${SLURM_ARRAY_TASK_ID:-$1}" = "$1" ]; }
FAILED=
# ended STATUS NAME: a run that failed does not stop the others
ended() { [ "$1" = 0 ] || FAILED+=" $2"; set -e; }

WORKERS=$(python -c "from dc_nmt_plugin import machine; print(machine.usable_cpus())") # processes of BPE and binarisation
lock "$DATA"

# text of wmt17_zh_en
if ! made "$DATA/raw" 489f4461cdd69025; then
begin "$DATA/raw"
dc-nmt recipe text wmt17_zh_en --work "$DATA/corpora" --downloads runs/downloads --any-counts \
  --out "$TO" 2>&1 |
  tee "$TO.log"
finish "$DATA/raw" 489f4461cdd69025
fi

# learn and apply BPE (32000 operations)
if ! made "$DATA/bpe-separate" 40a65dacb09304ae; then
begin "$DATA/bpe-separate"
{
subword-nmt learn-bpe -s 32000 -i "$DATA/raw/tokenised/train.zh" -o "$TO/codes.zh"
subword-nmt apply-bpe -c "$TO/codes.zh" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/train.zh" -o "$TO/train.zh"
subword-nmt apply-bpe -c "$TO/codes.zh" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/valid.zh" -o "$TO/valid.zh"
subword-nmt apply-bpe -c "$TO/codes.zh" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/test.zh" \
  -o "$TO/test.zh"
subword-nmt learn-bpe -s 32000 -i "$DATA/raw/tokenised/train.en" -o "$TO/codes.en"
subword-nmt apply-bpe -c "$TO/codes.en" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/train.en" -o "$TO/train.en"
subword-nmt apply-bpe -c "$TO/codes.en" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/valid.en" -o "$TO/valid.en"
subword-nmt apply-bpe -c "$TO/codes.en" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/test.en" \
  -o "$TO/test.en"
dc-nmt check-text --counts "$DATA/raw/tokenised/train.zh" "$TO/train.zh" \
  "$DATA/raw/tokenised/train.en" "$TO/train.en" "$DATA/raw/tokenised/valid.zh" "$TO/valid.zh" \
  "$DATA/raw/tokenised/valid.en" "$TO/valid.en" "$DATA/raw/tokenised/test.zh" "$TO/test.zh" \
  "$DATA/raw/tokenised/test.en" "$TO/test.en"
dc-nmt recipe clean "$TO" zh en 1023 0
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bpe-separate" 40a65dacb09304ae
fi

# fairseq-preprocess
if ! made "$DATA/bin-separate" 40a65dacb09304ae; then
begin "$DATA/bin-separate"
{
fairseq-preprocess --source-lang zh --target-lang en --trainpref "$DATA/bpe-separate/train" \
  --validpref "$DATA/bpe-separate/valid" --testpref "$DATA/bpe-separate/test" \
  --workers "$WORKERS" --destdir "$TO"
dc-nmt check-text --counts "$DATA/bpe-separate/train.zh" "$TO/train.zh-en.zh.idx" \
  "$DATA/bpe-separate/train.en" "$TO/train.zh-en.en.idx" "$DATA/bpe-separate/valid.zh" \
  "$TO/valid.zh-en.zh.idx" "$DATA/bpe-separate/valid.en" "$TO/valid.zh-en.en.idx" \
  "$DATA/bpe-separate/test.zh" "$TO/test.zh-en.zh.idx" "$DATA/bpe-separate/test.en" \
  "$TO/test.zh-en.en.idx"
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bin-separate" 40a65dacb09304ae
fi

# learn and apply BPE (32000 operations)
if ! made "$DATA/bpe-under50" a76f26d92a1a082c; then
begin "$DATA/bpe-under50"
{
subword-nmt learn-bpe -s 32000 -i "$DATA/raw/tokenised/train.zh" -o "$TO/codes.zh"
subword-nmt apply-bpe -c "$TO/codes.zh" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/train.zh" -o "$TO/train.zh"
subword-nmt apply-bpe -c "$TO/codes.zh" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/valid.zh" -o "$TO/valid.zh"
subword-nmt apply-bpe -c "$TO/codes.zh" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/test.zh" \
  -o "$TO/test.zh"
subword-nmt learn-bpe -s 32000 -i "$DATA/raw/tokenised/train.en" -o "$TO/codes.en"
subword-nmt apply-bpe -c "$TO/codes.en" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/train.en" -o "$TO/train.en"
subword-nmt apply-bpe -c "$TO/codes.en" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/valid.en" -o "$TO/valid.en"
subword-nmt apply-bpe -c "$TO/codes.en" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/test.en" \
  -o "$TO/test.en"
dc-nmt check-text --counts "$DATA/raw/tokenised/train.zh" "$TO/train.zh" \
  "$DATA/raw/tokenised/train.en" "$TO/train.en" "$DATA/raw/tokenised/valid.zh" "$TO/valid.zh" \
  "$DATA/raw/tokenised/valid.en" "$TO/valid.en" "$DATA/raw/tokenised/test.zh" "$TO/test.zh" \
  "$DATA/raw/tokenised/test.en" "$TO/test.en"
dc-nmt recipe clean "$TO" zh en 0 0 49
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bpe-under50" a76f26d92a1a082c
fi

# fairseq-preprocess
if ! made "$DATA/bin-under50" a76f26d92a1a082c; then
begin "$DATA/bin-under50"
{
fairseq-preprocess --source-lang zh --target-lang en --trainpref "$DATA/bpe-under50/train" \
  --validpref "$DATA/bpe-under50/valid" --testpref "$DATA/bpe-under50/test" --workers "$WORKERS" \
  --destdir "$TO"
dc-nmt check-text --counts "$DATA/bpe-under50/train.zh" "$TO/train.zh-en.zh.idx" \
  "$DATA/bpe-under50/train.en" "$TO/train.zh-en.en.idx" "$DATA/bpe-under50/valid.zh" \
  "$TO/valid.zh-en.zh.idx" "$DATA/bpe-under50/valid.en" "$TO/valid.zh-en.en.idx" \
  "$DATA/bpe-under50/test.zh" "$TO/test.zh-en.zh.idx" "$DATA/bpe-under50/test.en" \
  "$TO/test.zh-en.en.idx"
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bin-under50" a76f26d92a1a082c
fi

if wanted 0; then
set +e
(
set -e

RUN=$OUT/transformer_ctxaware_unshared-s$SEED
UPDATE_FREQ=$(((32768 + PROCESSES * 4096 - 1) / (PROCESSES * 4096)))
MAX_TOKENS=$((32768 / (PROCESSES * UPDATE_FREQ)))
# wmt17_zh_en: WMT 2017 Chinese-English
# Context-aware self-attention, "Setup": 8 GPUs with 4,096 tokens each, otherwise Vaswani et al.
# 2017 (from there: schedule, 100,000 updates of the base size, beam 4, length penalty 0.6).
# Parameter counts say that no embeddings are shared. Chosen: mean of the last 5 checkpoints.
lock "$RUN"

# transformer_ctxaware_unshared: train 100,000 updates
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
begin "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$TO/checkpoint.pt" 2>&1 |
  tee "$TO.log"
finish "$RUN/average"

# transformer_ctxaware_unshared: translate the test set
begin "$RUN/generate"
fairseq-generate "$DATA/bin-separate" --user-dir "$USER_DIR" --task transformer_ctxaware \
  --source-lang zh --target-lang en --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$TO" --beam 4 --lenpen 0.6 --length-penalty wu --max-len-a 1 --max-len-b 50 \
  --max-tokens 4096 2>&1 |
  tee "$TO.log"
finish "$RUN/generate"

# transformer_ctxaware_unshared: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.zh" --reference "$DATA/raw/test.en" --source-lang zh --target-lang en \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.en" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.en" --out "$RUN/run.json" 2>&1 |
  tee "$RUN/score.log"
)
ended $? "transformer_ctxaware_unshared-s$SEED"
fi

if wanted 1; then
set +e
(
set -e

RUN=$OUT/transformer_cross_agg_sum_unshared-s$SEED
UPDATE_FREQ=$(((24576 + PROCESSES * 2048 - 1) / (PROCESSES * 2048)))
MAX_TOKENS=$((24576 / (PROCESSES * UPDATE_FREQ)))
# wmt17_zh_en: WMT 2017 Chinese-English
# Cross aggregation, 4.1: 2,048 tokens, 12 times accumulated (24,576; twice that if it is meant
# for each of its two GPUs), otherwise Vaswani et al. 2017 (from there: schedule, 100,000
# updates, beam 4, length penalty 0.6). Chosen: mean of the last 5 checkpoints.
lock "$RUN"

# transformer_cross_agg_sum_unshared: train 100,000 updates
fairseq-train "$DATA/bin-under50" --user-dir "$USER_DIR" \
  --arch transformer_cross_agg_sum_unshared --task transformer_cross_agg \
  --criterion transformer_cross_agg --source-lang zh --target-lang en --max-update 100000 \
  --save-interval-updates 2000 --keep-interval-updates 5 --no-epoch-checkpoints --log-format json \
  --log-interval 10 --dropout 0.1 --label-smoothing 0.1 --optimizer adam \
  --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 7e-4 --lr-scheduler inverse_sqrt \
  --warmup-updates 4000 --warmup-init-lr 1e-7 --max-tokens "$MAX_TOKENS" \
  --update-freq "$UPDATE_FREQ" --seed "$SEED" --distributed-world-size "$PROCESSES" $CPU \
  --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_cross_agg_sum_unshared: average the last 5 checkpoints
begin "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$TO/checkpoint.pt" 2>&1 |
  tee "$TO.log"
finish "$RUN/average"

# transformer_cross_agg_sum_unshared: translate the test set
begin "$RUN/generate"
fairseq-generate "$DATA/bin-under50" --user-dir "$USER_DIR" --task transformer_cross_agg \
  --source-lang zh --target-lang en --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$TO" --beam 4 --lenpen 0.6 --length-penalty wu --max-len-a 1 --max-len-b 50 \
  --max-tokens 4096 2>&1 |
  tee "$TO.log"
finish "$RUN/generate"

# transformer_cross_agg_sum_unshared: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.zh" --reference "$DATA/raw/test.en" --source-lang zh --target-lang en \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.en" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.en" --out "$RUN/run.json" 2>&1 |
  tee "$RUN/score.log"
)
ended $? "transformer_cross_agg_sum_unshared-s$SEED"
fi

if wanted 2; then
set +e
(
set -e
dc-nmt results "$OUT/transformer_ctxaware_unshared-s$SEED" \
  "$OUT/transformer_cross_agg_sum_unshared-s$SEED" --finished
)
ended $? table
fi

[ -z "$FAILED" ] || { echo "failed:$FAILED" >&2; exit 1; }
