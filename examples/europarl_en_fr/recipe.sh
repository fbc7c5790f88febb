#!/usr/bin/env bash
# Made by: dc-nmt run europarl_en_fr --dry-run
# Run it with the environment's programs on PATH, such as: SEED=2 bash FILE
# shellcheck disable=SC2046,SC2086
set -euo pipefail
DATA=${DATA:-runs/europarl_en_fr/data} # the prepared text
OUT=${OUT:-runs/europarl_en_fr} # the runs
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

# text of europarl_en_fr
if ! made "$DATA/raw" e8721ac0e6fb22af; then
begin "$DATA/raw"
dc-nmt recipe text europarl_en_fr --work "$DATA/corpora" --downloads runs/downloads --out "$TO" 2>&1 |
  tee "$TO.log"
finish "$DATA/raw" e8721ac0e6fb22af
fi

# learn and apply BPE (10000 operations)
if ! made "$DATA/bpe" 135a2a68c9221306; then
begin "$DATA/bpe"
{
cat "$DATA/raw/tokenised/train.en" "$DATA/raw/tokenised/train.fr" > "$TO/both"
subword-nmt learn-bpe -s 10000 -i "$TO/both" -o "$TO/codes"
rm "$TO/both"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/train.en" \
  -o "$TO/train.en"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/valid.en" \
  -o "$TO/valid.en"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/test.en" \
  -o "$TO/test.en"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/europarl.en" -o "$TO/europarl.en"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/train.fr" \
  -o "$TO/train.fr"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/valid.fr" \
  -o "$TO/valid.fr"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/test.fr" \
  -o "$TO/test.fr"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/europarl.fr" -o "$TO/europarl.fr"
dc-nmt check-text --counts "$DATA/raw/tokenised/train.en" "$TO/train.en" \
  "$DATA/raw/tokenised/train.fr" "$TO/train.fr" "$DATA/raw/tokenised/valid.en" "$TO/valid.en" \
  "$DATA/raw/tokenised/valid.fr" "$TO/valid.fr" "$DATA/raw/tokenised/test.en" "$TO/test.en" \
  "$DATA/raw/tokenised/test.fr" "$TO/test.fr" "$DATA/raw/tokenised/europarl.en" "$TO/europarl.en" \
  "$DATA/raw/tokenised/europarl.fr" "$TO/europarl.fr"
dc-nmt recipe clean "$TO" en fr 150 0
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bpe" 135a2a68c9221306
fi

# fairseq-preprocess
if ! made "$DATA/bin" 135a2a68c9221306; then
begin "$DATA/bin"
{
fairseq-preprocess --source-lang en --target-lang fr --joined-dictionary \
  --trainpref "$DATA/bpe/train" --validpref "$DATA/bpe/valid" \
  --testpref "$DATA/bpe/test,$DATA/bpe/europarl" --workers "$WORKERS" --destdir "$TO"
dc-nmt check-text --counts "$DATA/bpe/train.en" "$TO/train.en-fr.en.idx" "$DATA/bpe/train.fr" \
  "$TO/train.en-fr.fr.idx" "$DATA/bpe/valid.en" "$TO/valid.en-fr.en.idx" "$DATA/bpe/valid.fr" \
  "$TO/valid.en-fr.fr.idx" "$DATA/bpe/test.en" "$TO/test.en-fr.en.idx" "$DATA/bpe/test.fr" \
  "$TO/test.en-fr.fr.idx" "$DATA/bpe/europarl.en" "$TO/test1.en-fr.en.idx" \
  "$DATA/bpe/europarl.fr" "$TO/test1.en-fr.fr.idx"
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bin" 135a2a68c9221306
fi

if wanted 0; then
set +e
(
set -e

RUN=$OUT/transformer_standard_iwslt-s$SEED
UPDATE_FREQ=$(((4096 + PROCESSES * 4096 - 1) / (PROCESSES * 4096)))
MAX_TOKENS=$((4096 / (PROCESSES * UPDATE_FREQ)))
# europarl_en_fr: Europarl and newstest, English-French
# our own schedule, for ten minutes of a GPU: the size of thesis-iwslt, 15,000 updates of 4,096
# tokens, inverse square root with a peak of 1e-3, mean of the last 5 checkpoints, beam 5
lock "$RUN"

# transformer_standard_iwslt: train 15,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_standard_iwslt \
  --task translation_dc_nmt --criterion joint_label_smoothed_cross_entropy --source-lang en \
  --target-lang fr --max-update 15000 --save-interval-updates 500 --keep-interval-updates 5 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 \
  --clip-norm 1.0 --optimizer adam --adam-betas '(0.9, 0.98)' --lr 1e-3 \
  --lr-scheduler inverse_sqrt --warmup-updates 2000 --warmup-init-lr 1e-7 \
  --max-tokens "$MAX_TOKENS" --update-freq "$UPDATE_FREQ" --seed "$SEED" \
  --distributed-world-size "$PROCESSES" $CPU --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_standard_iwslt: average the last 5 checkpoints
begin "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$TO/checkpoint.pt" 2>&1 |
  tee "$TO.log"
finish "$RUN/average"

# transformer_standard_iwslt: translate the test set
begin "$RUN/generate"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task translation_dc_nmt --source-lang en \
  --target-lang fr --path "$RUN/average/checkpoint.pt" --gen-subset test --results-path "$TO" \
  --beam 5 --max-len-a 1 --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$TO.log"
finish "$RUN/generate"

# transformer_standard_iwslt: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.fr" --source-lang en --target-lang fr \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.fr" \
  --metrics mteval-v13a,mteval-v13a-lc,multi-bleu,chrf --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.fr" --out "$RUN/run.json" 2>&1 |
  tee "$RUN/score.log"
)
ended $? "transformer_standard_iwslt-s$SEED"
fi

if wanted 1; then
set +e
(
set -e

RUN=$OUT/transformer_dc_iwslt-s$SEED
UPDATE_FREQ=$(((4096 + PROCESSES * 4096 - 1) / (PROCESSES * 4096)))
MAX_TOKENS=$((4096 / (PROCESSES * UPDATE_FREQ)))
# europarl_en_fr: Europarl and newstest, English-French
# our own schedule, for ten minutes of a GPU: the size of thesis-iwslt, 15,000 updates of 4,096
# tokens, inverse square root with a peak of 1e-3, mean of the last 5 checkpoints, beam 5
lock "$RUN"

# transformer_dc_iwslt: train 15,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_dc_iwslt \
  --task transformer_dc --criterion transformer_dc --source-lang en --target-lang fr \
  --max-update 15000 --save-interval-updates 500 --keep-interval-updates 5 --no-epoch-checkpoints \
  --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 --clip-norm 1.0 \
  --optimizer adam --adam-betas '(0.9, 0.98)' --lr 1e-3 --lr-scheduler inverse_sqrt \
  --warmup-updates 2000 --warmup-init-lr 1e-7 --max-tokens "$MAX_TOKENS" \
  --update-freq "$UPDATE_FREQ" --seed "$SEED" --distributed-world-size "$PROCESSES" $CPU \
  --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_dc_iwslt: average the last 5 checkpoints
begin "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$TO/checkpoint.pt" 2>&1 |
  tee "$TO.log"
finish "$RUN/average"

# transformer_dc_iwslt: translate the test set
begin "$RUN/generate"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_dc --source-lang en \
  --target-lang fr --path "$RUN/average/checkpoint.pt" --gen-subset test --results-path "$TO" \
  --beam 5 --max-len-a 1 --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$TO.log"
finish "$RUN/generate"

# transformer_dc_iwslt: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.fr" --source-lang en --target-lang fr \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.fr" \
  --metrics mteval-v13a,mteval-v13a-lc,multi-bleu,chrf --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.fr" --out "$RUN/run.json" 2>&1 |
  tee "$RUN/score.log"
)
ended $? "transformer_dc_iwslt-s$SEED"
fi

if wanted 2; then
set +e
(
set -e
dc-nmt results "$OUT/transformer_standard_iwslt-s$SEED" "$OUT/transformer_dc_iwslt-s$SEED" \
  --finished
)
ended $? table
fi

[ -z "$FAILED" ] || { echo "failed:$FAILED" >&2; exit 1; }
