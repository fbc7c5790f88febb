#!/usr/bin/env bash
# Made by: dc-nmt run iwslt14_ro_en --dry-run
# Run it with the environment's programs on PATH, such as: SEED=2 bash FILE
# shellcheck disable=SC2046,SC2086
set -euo pipefail
DATA=${DATA:-runs/iwslt14_ro_en/data} # the prepared text
OUT=${OUT:-runs/iwslt14_ro_en} # the runs
SEED=${SEED:-1}
GPUS=${GPUS:-$(python -c "import torch; print(torch.cuda.device_count())")} # 0: the CPU
PROCESSES=$((GPUS > 0 ? GPUS : 1))
CPU=$([ "$GPUS" -gt 0 ] || python -c "from dc_nmt_plugin import machine; print('--cpu', '--amp' if machine.multiplies_bfloat16() else '')")
[ "$GPUS" -gt 0 ] || export CUDA_VISIBLE_DEVICES=
USER_DIR=$(python -c "import dc_nmt_plugin as plugin; print(plugin.__path__[0])")

# text of iwslt14_ro_en
if [ ! -e "$DATA/raw/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/raw/"
dc-nmt recipe text iwslt14_ro_en --work "$DATA/corpora" --downloads runs/downloads \
  --out "$DATA/raw"
touch "$DATA/raw/.done"
fi

# learn and apply BPE (32000 operations)
if [ ! -e "$DATA/bpe/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bpe/"
cat "$DATA/raw/tokenised/train.ro" "$DATA/raw/tokenised/train.en" > "$DATA/bpe/both"
subword-nmt learn-bpe -s 32000 -i "$DATA/bpe/both" -o "$DATA/bpe/codes"
rm "$DATA/bpe/both"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/train.ro" -o "$DATA/bpe/train.ro"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/valid.ro" -o "$DATA/bpe/valid.ro"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/test.ro" -o "$DATA/bpe/test.ro"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/train.en" -o "$DATA/bpe/train.en"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/valid.en" -o "$DATA/bpe/valid.en"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/test.en" -o "$DATA/bpe/test.en"
dc-nmt check-text --counts "$DATA/raw/tokenised/train.ro" "$DATA/bpe/train.ro" \
  "$DATA/raw/tokenised/train.en" "$DATA/bpe/train.en" "$DATA/raw/tokenised/valid.ro" \
  "$DATA/bpe/valid.ro" "$DATA/raw/tokenised/valid.en" "$DATA/bpe/valid.en" \
  "$DATA/raw/tokenised/test.ro" "$DATA/bpe/test.ro" "$DATA/raw/tokenised/test.en" \
  "$DATA/bpe/test.en"
dc-nmt recipe clean "$DATA/bpe" ro en 150 9
touch "$DATA/bpe/.done"
fi

# fairseq-preprocess
if [ ! -e "$DATA/bin/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bin/"
rm -f "$DATA/bin/dict.ro.txt" "$DATA/bin/dict.en.txt"
fairseq-preprocess --source-lang ro --target-lang en --joined-dictionary \
  --trainpref "$DATA/bpe/train" --validpref "$DATA/bpe/valid" --testpref "$DATA/bpe/test" \
  --workers "$(nproc)" --destdir "$DATA/bin"
dc-nmt check-text --counts "$DATA/bpe/train.ro" "$DATA/bin/train.ro-en.ro.idx" \
  "$DATA/bpe/train.en" "$DATA/bin/train.ro-en.en.idx" "$DATA/bpe/valid.ro" \
  "$DATA/bin/valid.ro-en.ro.idx" "$DATA/bpe/valid.en" "$DATA/bin/valid.ro-en.en.idx" \
  "$DATA/bpe/test.ro" "$DATA/bin/test.ro-en.ro.idx" "$DATA/bpe/test.en" \
  "$DATA/bin/test.ro-en.en.idx"
touch "$DATA/bin/.done"
fi

RUN=$OUT/transformer_dc_iwslt_ff512-s$SEED
UPDATE_FREQ=$(((2048 + PROCESSES * 4096 - 1) / (PROCESSES * 4096)))
MAX_TOKENS=$((2048 / (PROCESSES * UPDATE_FREQ)))
# iwslt14_ro_en: IWSLT 2014 Romanian-English
# Dual contextual module, 5.2 and 5.3, and thesis, Table 5.1: d_ff = 512, otherwise as thesis
# 3.3. Chosen: peak learning rate, warm-up, clipping, mean of the last 5 checkpoints, longest
# output.

# transformer_dc_iwslt_ff512: train 200,000 updates
mkdir -p "$RUN/"
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_dc_iwslt_ff512 \
  --task transformer_dc --criterion transformer_dc --source-lang ro --target-lang en \
  --max-update 200000 --save-interval-updates 4000 --keep-interval-updates 5 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 \
  --clip-norm 1.0 --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 1e-3 \
  --lr-scheduler cosine --warmup-updates 4000 \
  --max-tokens "$MAX_TOKENS" --update-freq "$UPDATE_FREQ" --seed "$SEED" \
  --distributed-world-size "$PROCESSES" $CPU --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_dc_iwslt_ff512: average the last 5 checkpoints
mkdir -p "$RUN/average/"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_dc_iwslt_ff512: translate the test set
mkdir -p "$RUN/generate/"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_dc --source-lang ro \
  --target-lang en --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 6 --lenpen 1.1 --length-penalty wu --max-len-a 1 \
  --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# transformer_dc_iwslt_ff512: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.ro" --reference "$DATA/raw/test.en" --source-lang ro --target-lang en \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.en" --paper multi-bleu \
  --detokenized "$RUN/hypotheses.en" --out "$RUN/run.json"
