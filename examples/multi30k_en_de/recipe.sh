#!/usr/bin/env bash
# Made by: dc-nmt run multi30k_en_de --dry-run
# Run it with the environment's programs on PATH, such as: SEED=2 bash FILE
# shellcheck disable=SC2046,SC2086
set -euo pipefail
DATA=${DATA:-runs/multi30k_en_de/data} # the prepared text
OUT=${OUT:-runs/multi30k_en_de} # the runs
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

# text of multi30k_en_de
if ! made "$DATA/raw" 360cb7cd644b1987; then
begin "$DATA/raw"
dc-nmt recipe text multi30k_en_de --work "$DATA/corpora" --downloads runs/downloads --out "$TO" 2>&1 |
  tee "$TO.log"
finish "$DATA/raw" 360cb7cd644b1987
fi

# learn and apply BPE (4000 operations)
if ! made "$DATA/bpe" 8cf76e4546bdbad5; then
begin "$DATA/bpe"
{
cat "$DATA/raw/tokenised/train.en" "$DATA/raw/tokenised/train.de" > "$TO/both"
subword-nmt learn-bpe -s 4000 -i "$TO/both" -o "$TO/codes"
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
dc-nmt recipe clean "$TO" en de 0 0
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bpe" 8cf76e4546bdbad5
fi

# fairseq-preprocess
if ! made "$DATA/bin" 8cf76e4546bdbad5; then
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
finish "$DATA/bin" 8cf76e4546bdbad5
fi

if wanted 0; then
set +e
(
set -e

RUN=$OUT/transformer_standard-tiny-s$SEED
UPDATE_FREQ=$(((2048 + PROCESSES * 2048 - 1) / (PROCESSES * 2048)))
MAX_TOKENS=$((2048 / (PROCESSES * UPDATE_FREQ)))
# multi30k_en_de: Multi30k task 1, image captions
# our own schedule, for two CPU cores: 4+4 layers of 128/256, 7,200 updates
lock "$RUN"

# transformer_standard: train 7,200 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_standard \
  --task translation_dc_nmt --criterion joint_label_smoothed_cross_entropy --source-lang en \
  --target-lang de --max-update 7200 --save-interval-updates 360 --keep-interval-updates 5 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --encoder-layers 4 \
  --decoder-layers 4 --encoder-embed-dim 128 --decoder-embed-dim 128 --encoder-ffn-embed-dim 256 \
  --decoder-ffn-embed-dim 256 --encoder-attention-heads 4 --decoder-attention-heads 4 \
  --share-all-embeddings --dropout 0.1 --label-smoothing 0.1 --clip-norm 1.0 --optimizer adam \
  --adam-betas '(0.9, 0.98)' --lr 3e-3 --lr-scheduler cosine --warmup-updates 800 \
  --max-tokens "$MAX_TOKENS" --update-freq "$UPDATE_FREQ" --seed "$SEED" \
  --distributed-world-size "$PROCESSES" $CPU --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_standard: average the last 5 checkpoints
begin "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$TO/checkpoint.pt" 2>&1 |
  tee "$TO.log"
finish "$RUN/average"

# transformer_standard: translate the test set
begin "$RUN/generate"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task translation_dc_nmt --source-lang en \
  --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test --results-path "$TO" \
  --beam 5 --max-tokens 4096 --max-len-a 2 --max-len-b 20 2>&1 |
  tee "$TO.log"
finish "$RUN/generate"

# transformer_standard: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.de" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json" 2>&1 |
  tee "$RUN/score.log"
)
ended $? "transformer_standard-tiny-s$SEED"
fi

if wanted 1; then
set +e
(
set -e

RUN=$OUT/transformer_dc-tiny-s$SEED
UPDATE_FREQ=$(((2048 + PROCESSES * 2048 - 1) / (PROCESSES * 2048)))
MAX_TOKENS=$((2048 / (PROCESSES * UPDATE_FREQ)))
# multi30k_en_de: Multi30k task 1, image captions
# our own schedule, for two CPU cores: 4+4 layers of 128/256, 7,200 updates
lock "$RUN"

# transformer_dc: train 7,200 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_dc --task transformer_dc \
  --criterion transformer_dc --source-lang en --target-lang de --max-update 7200 \
  --save-interval-updates 360 --keep-interval-updates 5 --no-epoch-checkpoints --log-format json \
  --log-interval 10 --encoder-layers 4 --decoder-layers 4 --encoder-embed-dim 128 \
  --decoder-embed-dim 128 --encoder-ffn-embed-dim 256 --decoder-ffn-embed-dim 256 \
  --encoder-attention-heads 4 --decoder-attention-heads 4 --share-all-embeddings --dropout 0.1 \
  --label-smoothing 0.1 --clip-norm 1.0 --optimizer adam --adam-betas '(0.9, 0.98)' --lr 3e-3 \
  --lr-scheduler cosine --warmup-updates 800 --max-tokens "$MAX_TOKENS" \
  --update-freq "$UPDATE_FREQ" --seed "$SEED" --distributed-world-size "$PROCESSES" $CPU \
  --save-dir "$RUN/checkpoints" 2>&1 |
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
  --beam 5 --max-tokens 4096 --max-len-a 2 --max-len-b 20 2>&1 |
  tee "$TO.log"
finish "$RUN/generate"

# transformer_dc: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.de" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json" 2>&1 |
  tee "$RUN/score.log"
)
ended $? "transformer_dc-tiny-s$SEED"
fi

if wanted 2; then
set +e
(
set -e
dc-nmt results "$OUT/transformer_standard-tiny-s$SEED" "$OUT/transformer_dc-tiny-s$SEED" \
  --finished
)
ended $? table
fi

[ -z "$FAILED" ] || { echo "failed:$FAILED" >&2; exit 1; }
