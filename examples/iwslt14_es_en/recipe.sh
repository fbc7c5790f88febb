#!/usr/bin/env bash
# Made by: dc-nmt run iwslt14_es_en --dry-run
# Run it with the environment's programs on PATH, such as: SEED=2 bash FILE
# shellcheck disable=SC2046,SC2086
set -euo pipefail
DATA=${DATA:-runs/iwslt14_es_en/data} # the prepared text
OUT=${OUT:-runs/iwslt14_es_en} # the runs
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
# In an array of Slurm, each job has one of the runs: sbatch --array=0-2 FILE
# After them, one more prints the table: sbatch --dependency=afterany:JOB --array=3 FILE
# wanted NUMBER: tells whether this is the job of a run; without an array, all are
wanted() { [ "${SLURM_ARRAY_TASK_ID:-$1}" = "$1" ]; }
FAILED=
# ended STATUS NAME: a run that failed does not stop the others
ended() { [ "$1" = 0 ] || FAILED+=" $2"; set -e; }

WORKERS=$(python -c "from dc_nmt_plugin import machine; print(machine.usable_cpus())") # processes of BPE and binarisation
lock "$DATA"

# text of iwslt14_es_en
if ! made "$DATA/raw" 3fa0975b06633a12; then
begin "$DATA/raw"
dc-nmt recipe text iwslt14_es_en --work "$DATA/corpora" --downloads runs/downloads --out "$TO" 2>&1 |
  tee "$TO.log"
finish "$DATA/raw" 3fa0975b06633a12
fi

# learn and apply BPE (34000 operations)
if ! made "$DATA/bpe" d3aa29102065b9f8; then
begin "$DATA/bpe"
{
cat "$DATA/raw/tokenised/train.es" "$DATA/raw/tokenised/train.en" > "$TO/both"
subword-nmt learn-bpe -s 34000 -i "$TO/both" -o "$TO/codes"
rm "$TO/both"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/train.es" \
  -o "$TO/train.es"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/valid.es" \
  -o "$TO/valid.es"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/test.es" \
  -o "$TO/test.es"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/train.en" \
  -o "$TO/train.en"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/valid.en" \
  -o "$TO/valid.en"
subword-nmt apply-bpe -c "$TO/codes" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/test.en" \
  -o "$TO/test.en"
dc-nmt check-text --counts "$DATA/raw/tokenised/train.es" "$TO/train.es" \
  "$DATA/raw/tokenised/train.en" "$TO/train.en" "$DATA/raw/tokenised/valid.es" "$TO/valid.es" \
  "$DATA/raw/tokenised/valid.en" "$TO/valid.en" "$DATA/raw/tokenised/test.es" "$TO/test.es" \
  "$DATA/raw/tokenised/test.en" "$TO/test.en"
dc-nmt recipe clean "$TO" es en 150 9
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bpe" d3aa29102065b9f8
fi

# fairseq-preprocess
if ! made "$DATA/bin" d3aa29102065b9f8; then
begin "$DATA/bin"
{
fairseq-preprocess --source-lang es --target-lang en --joined-dictionary \
  --trainpref "$DATA/bpe/train" --validpref "$DATA/bpe/valid" --testpref "$DATA/bpe/test" \
  --workers "$WORKERS" --destdir "$TO"
dc-nmt check-text --counts "$DATA/bpe/train.es" "$TO/train.es-en.es.idx" "$DATA/bpe/train.en" \
  "$TO/train.es-en.en.idx" "$DATA/bpe/valid.es" "$TO/valid.es-en.es.idx" "$DATA/bpe/valid.en" \
  "$TO/valid.es-en.en.idx" "$DATA/bpe/test.es" "$TO/test.es-en.es.idx" "$DATA/bpe/test.en" \
  "$TO/test.es-en.en.idx"
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bin" d3aa29102065b9f8
fi

if wanted 0; then
set +e
(
set -e

RUN=$OUT/transformer_dc_iwslt_ff512-s$SEED
UPDATE_FREQ=$(((2048 + PROCESSES * 4096 - 1) / (PROCESSES * 4096)))
MAX_TOKENS=$((2048 / (PROCESSES * UPDATE_FREQ)))
# iwslt14_es_en: IWSLT 2014 Spanish-English
# Dual contextual module, 5.2 and 5.3, and thesis, Table 5.1: d_ff = 512, otherwise as thesis
# 3.3. Chosen: peak learning rate, warm-up, clipping, mean of the last 5 checkpoints, longest
# output.
lock "$RUN"

# transformer_dc_iwslt_ff512: train 200,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_dc_iwslt_ff512 \
  --task transformer_dc --criterion transformer_dc --source-lang es --target-lang en \
  --max-update 200000 --save-interval-updates 4000 --keep-interval-updates 5 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 \
  --clip-norm 1.0 --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 1e-3 \
  --lr-scheduler cosine --warmup-updates 4000 --max-tokens "$MAX_TOKENS" \
  --update-freq "$UPDATE_FREQ" --seed "$SEED" --distributed-world-size "$PROCESSES" $CPU \
  --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_dc_iwslt_ff512: average the last 5 checkpoints
begin "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$TO/checkpoint.pt" 2>&1 |
  tee "$TO.log"
finish "$RUN/average"

# transformer_dc_iwslt_ff512: translate the test set
begin "$RUN/generate"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_dc --source-lang es \
  --target-lang en --path "$RUN/average/checkpoint.pt" --gen-subset test --results-path "$TO" \
  --beam 6 --lenpen 1.1 --length-penalty wu --max-len-a 1 --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$TO.log"
finish "$RUN/generate"

# transformer_dc_iwslt_ff512: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.es" --reference "$DATA/raw/test.en" --source-lang es --target-lang en \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.en" --paper multi-bleu \
  --detokenized "$RUN/hypotheses.en" --out "$RUN/run.json" 2>&1 |
  tee "$RUN/score.log"
)
ended $? "transformer_dc_iwslt_ff512-s$SEED"
fi

if wanted 1; then
set +e
(
set -e

RUN=$OUT/transformer_mlmha_m_00_iwslt-s$SEED
UPDATE_FREQ=$(((2048 + PROCESSES * 4096 - 1) / (PROCESSES * 4096)))
MAX_TOKENS=$((2048 / (PROCESSES * UPDATE_FREQ)))
# iwslt14_es_en: IWSLT 2014 Spanish-English
# Ampomah's thesis, 3.3 and 4.3: 4+4 layers, d = 256, d_ff = 1024, 2,048 tokens, 200,000
# updates, one cosine cycle with warm-up, beam 6, length penalty 1.1. Chosen: peak learning
# rate, warm-up, clipping, mean of the last 5 checkpoints, longest output.
lock "$RUN"

# transformer_mlmha_m_00_iwslt: train 200,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_mlmha_m_00_iwslt \
  --task transformer_mlmha --criterion transformer_mlmha --source-lang es --target-lang en \
  --max-update 200000 --save-interval-updates 4000 --keep-interval-updates 5 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 \
  --clip-norm 1.0 --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 1e-3 \
  --lr-scheduler cosine --warmup-updates 4000 --max-tokens "$MAX_TOKENS" \
  --update-freq "$UPDATE_FREQ" --seed "$SEED" --distributed-world-size "$PROCESSES" $CPU \
  --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_mlmha_m_00_iwslt: average the last 5 checkpoints
begin "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$TO/checkpoint.pt" 2>&1 |
  tee "$TO.log"
finish "$RUN/average"

# transformer_mlmha_m_00_iwslt: translate the test set
begin "$RUN/generate"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_mlmha --source-lang es \
  --target-lang en --path "$RUN/average/checkpoint.pt" --gen-subset test --results-path "$TO" \
  --beam 6 --lenpen 1.1 --length-penalty wu --max-len-a 1 --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$TO.log"
finish "$RUN/generate"

# transformer_mlmha_m_00_iwslt: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.es" --reference "$DATA/raw/test.en" --source-lang es --target-lang en \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.en" --paper multi-bleu \
  --detokenized "$RUN/hypotheses.en" --out "$RUN/run.json" 2>&1 |
  tee "$RUN/score.log"
)
ended $? "transformer_mlmha_m_00_iwslt-s$SEED"
fi

if wanted 2; then
set +e
(
set -e

RUN=$OUT/transformer_ms_aux_3_aif_iwslt-s$SEED
UPDATE_FREQ=$(((2048 + PROCESSES * 4096 - 1) / (PROCESSES * 4096)))
MAX_TOKENS=$((2048 / (PROCESSES * UPDATE_FREQ)))
# iwslt14_es_en: IWSLT 2014 Spanish-English
# Ampomah's thesis, 3.3 and 4.3: 4+4 layers, d = 256, d_ff = 1024, 2,048 tokens, 200,000
# updates, one cosine cycle with warm-up, beam 6, length penalty 1.1. Chosen: peak learning
# rate, warm-up, clipping, mean of the last 5 checkpoints, longest output.
lock "$RUN"

# transformer_ms_aux_3_aif_iwslt: train 200,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_ms_aux_3_aif_iwslt \
  --task transformer_ms_aux --criterion transformer_ms_aux --source-lang es --target-lang en \
  --max-update 200000 --save-interval-updates 4000 --keep-interval-updates 5 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 \
  --clip-norm 1.0 --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 1e-3 \
  --lr-scheduler cosine --warmup-updates 4000 --max-tokens "$MAX_TOKENS" \
  --update-freq "$UPDATE_FREQ" --seed "$SEED" --distributed-world-size "$PROCESSES" $CPU \
  --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_ms_aux_3_aif_iwslt: average the last 5 checkpoints
begin "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$TO/checkpoint.pt" 2>&1 |
  tee "$TO.log"
finish "$RUN/average"

# transformer_ms_aux_3_aif_iwslt: translate the test set
begin "$RUN/generate"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_ms_aux --source-lang es \
  --target-lang en --path "$RUN/average/checkpoint.pt" --gen-subset test --results-path "$TO" \
  --beam 6 --lenpen 1.1 --length-penalty wu --max-len-a 1 --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$TO.log"
finish "$RUN/generate"

# transformer_ms_aux_3_aif_iwslt: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.es" --reference "$DATA/raw/test.en" --source-lang es --target-lang en \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.en" --paper multi-bleu \
  --detokenized "$RUN/hypotheses.en" --out "$RUN/run.json" 2>&1 |
  tee "$RUN/score.log"
)
ended $? "transformer_ms_aux_3_aif_iwslt-s$SEED"
fi

if wanted 3; then
set +e
(
set -e
dc-nmt results "$OUT/transformer_dc_iwslt_ff512-s$SEED" \
  "$OUT/transformer_mlmha_m_00_iwslt-s$SEED" "$OUT/transformer_ms_aux_3_aif_iwslt-s$SEED" \
  --finished
)
ended $? table
fi

[ -z "$FAILED" ] || { echo "failed:$FAILED" >&2; exit 1; }
