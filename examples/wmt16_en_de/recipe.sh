#!/usr/bin/env bash
# Made by: dc-nmt run wmt16_en_de --dry-run
# Run it with the environment's programs on PATH, such as: SEED=2 bash FILE
# shellcheck disable=SC2046,SC2086
set -euo pipefail
DATA=${DATA:-runs/wmt16_en_de/data} # the prepared text
OUT=${OUT:-runs/wmt16_en_de} # the runs
SEED=${SEED:-1}
GPUS=${GPUS:-$(python -c "import torch; print(torch.cuda.device_count())")} # 0: the CPU
PROCESSES=$((GPUS > 0 ? GPUS : 1))
CPU=$([ "$GPUS" -gt 0 ] || python -c "from dc_nmt_plugin import machine; print('--cpu', '--amp' if machine.multiplies_bfloat16() else '')")
[ "$GPUS" -gt 0 ] || export CUDA_VISIBLE_DEVICES=
USER_DIR=$(python -c "import dc_nmt_plugin as plugin; print(plugin.__path__[0])")

# text of wmt16_en_de
if [ ! -e "$DATA/raw/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/raw/"
dc-nmt recipe text wmt16_en_de --work "$DATA/corpora" --downloads runs/downloads \
  --out "$DATA/raw"
touch "$DATA/raw/.done"
fi

# learn and apply BPE (50000 operations)
if [ ! -e "$DATA/bpe/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bpe/"
subword-nmt learn-bpe -s 50000 -i "$DATA/raw/tokenised/train.en" -o "$DATA/bpe/codes.en"
subword-nmt apply-bpe -c "$DATA/bpe/codes.en" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/train.en" -o "$DATA/bpe/train.en"
subword-nmt apply-bpe -c "$DATA/bpe/codes.en" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/valid.en" -o "$DATA/bpe/valid.en"
subword-nmt apply-bpe -c "$DATA/bpe/codes.en" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/test.en" -o "$DATA/bpe/test.en"
subword-nmt apply-bpe -c "$DATA/bpe/codes.en" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/newstest2015.en" -o "$DATA/bpe/newstest2015.en"
subword-nmt apply-bpe -c "$DATA/bpe/codes.en" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/newstest2016.en" -o "$DATA/bpe/newstest2016.en"
subword-nmt learn-bpe -s 50000 -i "$DATA/raw/tokenised/train.de" -o "$DATA/bpe/codes.de"
subword-nmt apply-bpe -c "$DATA/bpe/codes.de" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/train.de" -o "$DATA/bpe/train.de"
subword-nmt apply-bpe -c "$DATA/bpe/codes.de" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/valid.de" -o "$DATA/bpe/valid.de"
subword-nmt apply-bpe -c "$DATA/bpe/codes.de" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/test.de" -o "$DATA/bpe/test.de"
subword-nmt apply-bpe -c "$DATA/bpe/codes.de" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/newstest2015.de" -o "$DATA/bpe/newstest2015.de"
subword-nmt apply-bpe -c "$DATA/bpe/codes.de" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/newstest2016.de" -o "$DATA/bpe/newstest2016.de"
dc-nmt check-text --counts "$DATA/raw/tokenised/train.en" "$DATA/bpe/train.en" \
  "$DATA/raw/tokenised/train.de" "$DATA/bpe/train.de" "$DATA/raw/tokenised/valid.en" \
  "$DATA/bpe/valid.en" "$DATA/raw/tokenised/valid.de" "$DATA/bpe/valid.de" \
  "$DATA/raw/tokenised/test.en" "$DATA/bpe/test.en" "$DATA/raw/tokenised/test.de" \
  "$DATA/bpe/test.de" "$DATA/raw/tokenised/newstest2015.en" "$DATA/bpe/newstest2015.en" \
  "$DATA/raw/tokenised/newstest2015.de" "$DATA/bpe/newstest2015.de" \
  "$DATA/raw/tokenised/newstest2016.en" "$DATA/bpe/newstest2016.en" \
  "$DATA/raw/tokenised/newstest2016.de" "$DATA/bpe/newstest2016.de"
dc-nmt recipe clean "$DATA/bpe" en de 50 0
touch "$DATA/bpe/.done"
fi

# fairseq-preprocess
if [ ! -e "$DATA/bin/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bin/"
rm -f "$DATA/bin/dict.en.txt" "$DATA/bin/dict.de.txt"
fairseq-preprocess --source-lang en --target-lang de --trainpref "$DATA/bpe/train" \
  --validpref "$DATA/bpe/valid" \
  --testpref "$DATA/bpe/test,$DATA/bpe/newstest2015,$DATA/bpe/newstest2016" --workers "$(nproc)" \
  --destdir "$DATA/bin"
dc-nmt check-text --counts "$DATA/bpe/train.en" "$DATA/bin/train.en-de.en.idx" \
  "$DATA/bpe/train.de" "$DATA/bin/train.en-de.de.idx" "$DATA/bpe/valid.en" \
  "$DATA/bin/valid.en-de.en.idx" "$DATA/bpe/valid.de" "$DATA/bin/valid.en-de.de.idx" \
  "$DATA/bpe/test.en" "$DATA/bin/test.en-de.en.idx" "$DATA/bpe/test.de" \
  "$DATA/bin/test.en-de.de.idx" "$DATA/bpe/newstest2015.en" "$DATA/bin/test1.en-de.en.idx" \
  "$DATA/bpe/newstest2015.de" "$DATA/bin/test1.en-de.de.idx" "$DATA/bpe/newstest2016.en" \
  "$DATA/bin/test2.en-de.en.idx" "$DATA/bpe/newstest2016.de" "$DATA/bin/test2.en-de.de.idx"
touch "$DATA/bin/.done"
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

# gru_selfattn_residual: train 250,000 updates
mkdir -p "$RUN/"
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch gru_selfattn_residual \
  --task gru_selfattn_residual --criterion gru_selfattn_residual --source-lang en \
  --target-lang de --max-update 250000 --save-interval-updates 5000 --keep-interval-updates 1 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.5 --label-smoothing 0 \
  --clip-norm 1.0 --sentence-avg --weight-init normal --optimizer adadelta --adadelta-rho 0.95 \
  --adadelta-eps 1e-6 --lr 1.0 --lr-scheduler fixed \
  --max-tokens "$MAX_TOKENS" --update-freq "$UPDATE_FREQ" --seed "$SEED" \
  --distributed-world-size "$PROCESSES" $CPU --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# gru_selfattn_residual: take the best checkpoint
mkdir -p "$RUN/average/"
dc-nmt average "$RUN/checkpoints/checkpoint_best.pt" --out "$RUN/average/checkpoint.pt"

# gru_selfattn_residual: translate the test set
mkdir -p "$RUN/generate/"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task gru_selfattn_residual --source-lang en \
  --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 5 --lenpen 1 --max-len-a 1 --max-len-b 50 \
  --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# gru_selfattn_residual: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses-a --tokenized-reference "$DATA/raw/tokenised/test.de" --truecased \
  --paper multi-bleu-lc --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json"
