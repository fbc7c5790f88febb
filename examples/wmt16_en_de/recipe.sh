#!/usr/bin/env bash
# Made by: dc-nmt run wmt16_en_de --dry-run
# Run it with the environment's programs on PATH, such as: SEED=2 bash FILE
# shellcheck disable=SC2046,SC2086
set -euo pipefail
DATA=${DATA:-runs/wmt16_en_de/data} # the prepared text
OUT=${OUT:-runs/wmt16_en_de} # the runs
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

WORKERS=$(python -c "from dc_nmt_plugin import machine; print(machine.usable_cpus())") # processes of BPE and binarisation
lock "$DATA"

# text of wmt16_en_de
if ! made "$DATA/raw" 3b1e5c6596dc1931; then
begin "$DATA/raw"
dc-nmt recipe text wmt16_en_de --work "$DATA/corpora" --downloads runs/downloads --out "$TO" 2>&1 |
  tee "$TO.log"
finish "$DATA/raw" 3b1e5c6596dc1931
fi

# learn and apply BPE (50000 operations)
if ! made "$DATA/bpe" 798193abc4201261; then
begin "$DATA/bpe"
{
subword-nmt learn-bpe -s 50000 -i "$DATA/raw/tokenised/train.en" -o "$TO/codes.en"
subword-nmt apply-bpe -c "$TO/codes.en" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/train.en" -o "$TO/train.en"
subword-nmt apply-bpe -c "$TO/codes.en" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/valid.en" -o "$TO/valid.en"
subword-nmt apply-bpe -c "$TO/codes.en" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/test.en" \
  -o "$TO/test.en"
subword-nmt apply-bpe -c "$TO/codes.en" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/newstest2015.en" -o "$TO/newstest2015.en"
subword-nmt apply-bpe -c "$TO/codes.en" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/newstest2016.en" -o "$TO/newstest2016.en"
subword-nmt learn-bpe -s 50000 -i "$DATA/raw/tokenised/train.de" -o "$TO/codes.de"
subword-nmt apply-bpe -c "$TO/codes.de" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/train.de" -o "$TO/train.de"
subword-nmt apply-bpe -c "$TO/codes.de" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/valid.de" -o "$TO/valid.de"
subword-nmt apply-bpe -c "$TO/codes.de" --num-workers "$WORKERS" -i "$DATA/raw/tokenised/test.de" \
  -o "$TO/test.de"
subword-nmt apply-bpe -c "$TO/codes.de" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/newstest2015.de" -o "$TO/newstest2015.de"
subword-nmt apply-bpe -c "$TO/codes.de" --num-workers "$WORKERS" \
  -i "$DATA/raw/tokenised/newstest2016.de" -o "$TO/newstest2016.de"
dc-nmt check-text --counts "$DATA/raw/tokenised/train.en" "$TO/train.en" \
  "$DATA/raw/tokenised/train.de" "$TO/train.de" "$DATA/raw/tokenised/valid.en" "$TO/valid.en" \
  "$DATA/raw/tokenised/valid.de" "$TO/valid.de" "$DATA/raw/tokenised/test.en" "$TO/test.en" \
  "$DATA/raw/tokenised/test.de" "$TO/test.de" "$DATA/raw/tokenised/newstest2015.en" \
  "$TO/newstest2015.en" "$DATA/raw/tokenised/newstest2015.de" "$TO/newstest2015.de" \
  "$DATA/raw/tokenised/newstest2016.en" "$TO/newstest2016.en" \
  "$DATA/raw/tokenised/newstest2016.de" "$TO/newstest2016.de"
dc-nmt recipe clean "$TO" en de 50 0
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bpe" 798193abc4201261
fi

# fairseq-preprocess
if ! made "$DATA/bin" 798193abc4201261; then
begin "$DATA/bin"
{
fairseq-preprocess --source-lang en --target-lang de --trainpref "$DATA/bpe/train" \
  --validpref "$DATA/bpe/valid" \
  --testpref "$DATA/bpe/test,$DATA/bpe/newstest2015,$DATA/bpe/newstest2016" --workers "$WORKERS" \
  --destdir "$TO"
dc-nmt check-text --counts "$DATA/bpe/train.en" "$TO/train.en-de.en.idx" "$DATA/bpe/train.de" \
  "$TO/train.en-de.de.idx" "$DATA/bpe/valid.en" "$TO/valid.en-de.en.idx" "$DATA/bpe/valid.de" \
  "$TO/valid.en-de.de.idx" "$DATA/bpe/test.en" "$TO/test.en-de.en.idx" "$DATA/bpe/test.de" \
  "$TO/test.en-de.de.idx" "$DATA/bpe/newstest2015.en" "$TO/test1.en-de.en.idx" \
  "$DATA/bpe/newstest2015.de" "$TO/test1.en-de.de.idx" "$DATA/bpe/newstest2016.en" \
  "$TO/test2.en-de.en.idx" "$DATA/bpe/newstest2016.de" "$TO/test2.en-de.de.idx"
} 2>&1 |
  tee "$TO.log"
finish "$DATA/bin" 798193abc4201261
fi

RUN=$OUT/gru_selfattn_residual-s$SEED
UPDATE_FREQ=$(((4000 + PROCESSES * 4000 - 1) / (PROCESSES * 4000)))
MAX_TOKENS=$((4000 / (PROCESSES * UPDATE_FREQ)))
# wmt16_en_de: WMT 2016 English-German
# Self-attentive residual decoder, 6.2: e = 500, d = 1,024, training sentences of at most 50
# tokens, dropout 0.5, Adadelta (eps 1e-6, rho 0.95), weights from N(0, 0.01^2), a loss that is
# a mean over sentences (equation 1). Chosen: 4,000 tokens an update, 250,000 updates (its 7 to
# 12 days at 1,000 words a second are about 150,000 to 260,000), clipping at 1 (dl4mt), the
# checkpoint with the best validation loss, beam 5.
lock "$RUN"

# gru_selfattn_residual: train 250,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch gru_selfattn_residual \
  --task gru_selfattn_residual --criterion gru_selfattn_residual --source-lang en \
  --target-lang de --max-update 250000 --save-interval-updates 5000 --keep-interval-updates 1 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.5 --label-smoothing 0 \
  --clip-norm 1.0 --sentence-avg --weight-init normal --optimizer adadelta --adadelta-rho 0.95 \
  --adadelta-eps 1e-6 --lr 1.0 --lr-scheduler fixed --max-tokens "$MAX_TOKENS" \
  --update-freq "$UPDATE_FREQ" --seed "$SEED" --distributed-world-size "$PROCESSES" $CPU \
  --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# gru_selfattn_residual: take the best checkpoint
begin "$RUN/average"
dc-nmt average "$RUN/checkpoints/checkpoint_best.pt" --out "$TO/checkpoint.pt" 2>&1 |
  tee "$TO.log"
finish "$RUN/average"

# gru_selfattn_residual: translate the test set
begin "$RUN/generate"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task gru_selfattn_residual --source-lang en \
  --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test --results-path "$TO" \
  --beam 5 --lenpen 1 --max-len-a 1 --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$TO.log"
finish "$RUN/generate"

# gru_selfattn_residual: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses-a --tokenized-reference "$DATA/raw/tokenised/test.de" --truecased \
  --paper multi-bleu-lc --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json" 2>&1 |
  tee "$RUN/score.log"
dc-nmt results "$OUT/gru_selfattn_residual-s$SEED" --finished
