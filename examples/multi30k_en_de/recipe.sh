#!/usr/bin/env bash
# Made by: dc-nmt run multi30k_en_de --dry-run
# Run it with the environment's programs on PATH, such as: SEED=2 bash FILE
# shellcheck disable=SC2046,SC2086
set -euo pipefail
DATA=${DATA:-runs/multi30k_en_de/data} # the prepared text
OUT=${OUT:-runs/multi30k_en_de} # the runs
SEED=${SEED:-1}
GPUS=${GPUS:-$(python -c "import torch; print(torch.cuda.device_count())")} # 0: the CPU
PROCESSES=$((GPUS > 0 ? GPUS : 1))
CPU=$([ "$GPUS" -gt 0 ] || python -c "from dc_nmt_plugin import machine; print('--cpu', '--amp' if machine.multiplies_bfloat16() else '')")
[ "$GPUS" -gt 0 ] || export CUDA_VISIBLE_DEVICES=
USER_DIR=$(python -c "import dc_nmt_plugin as plugin; print(plugin.__path__[0])")

# text of multi30k_en_de
if [ ! -e "$DATA/raw/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/raw/"
dc-nmt recipe text multi30k_en_de --work "$DATA/corpora" --downloads runs/downloads \
  --out "$DATA/raw"
touch "$DATA/raw/.done"
fi

# learn and apply BPE (4000 operations)
if [ ! -e "$DATA/bpe/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bpe/"
cat "$DATA/raw/tokenised/train.en" "$DATA/raw/tokenised/train.de" > "$DATA/bpe/both"
subword-nmt learn-bpe -s 4000 -i "$DATA/bpe/both" -o "$DATA/bpe/codes"
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
dc-nmt recipe clean "$DATA/bpe" en de 0 0
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

RUN=$OUT/transformer_standard-tiny-s$SEED
UPDATE_FREQ=$(((2048 + PROCESSES * 2048 - 1) / (PROCESSES * 2048)))
MAX_TOKENS=$((2048 / (PROCESSES * UPDATE_FREQ)))
# multi30k_en_de: Multi30k task 1, image captions
# our own schedule, for two CPU cores: 4+4 layers of 128/256, 7,200 updates

# transformer_standard: train 7,200 updates
mkdir -p "$RUN/"
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_standard \
  --task translation_dc_nmt --criterion joint_label_smoothed_cross_entropy --source-lang en \
  --target-lang de --max-update 7200 --save-interval-updates 360 --keep-interval-updates 5 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --encoder-layers 4 \
  --decoder-layers 4 --encoder-embed-dim 128 --decoder-embed-dim 128 --encoder-ffn-embed-dim 256 \
  --decoder-ffn-embed-dim 256 --encoder-attention-heads 4 --decoder-attention-heads 4 \
  --share-all-embeddings --dropout 0.1 --label-smoothing 0.1 --clip-norm 1.0 \
  --max-tokens "$MAX_TOKENS" --update-freq "$UPDATE_FREQ" --optimizer adam \
  --adam-betas '(0.9, 0.98)' --lr 3e-3 --lr-scheduler cosine --warmup-updates 800 --seed "$SEED" \
  --distributed-world-size "$PROCESSES" $CPU --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_standard: average the last 5 checkpoints
mkdir -p "$RUN/average/"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_standard: translate the test set
mkdir -p "$RUN/generate/"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task translation_dc_nmt --source-lang en \
  --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 5 --max-tokens 4096 --max-len-a 2 --max-len-b 20 2>&1 |
  tee "$RUN/generate.log"

# transformer_standard: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.de" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json"

RUN=$OUT/transformer_dc-tiny-s$SEED
UPDATE_FREQ=$(((2048 + PROCESSES * 2048 - 1) / (PROCESSES * 2048)))
MAX_TOKENS=$((2048 / (PROCESSES * UPDATE_FREQ)))
# multi30k_en_de: Multi30k task 1, image captions
# our own schedule, for two CPU cores: 4+4 layers of 128/256, 7,200 updates

# transformer_dc: train 7,200 updates
mkdir -p "$RUN/"
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_dc --task transformer_dc \
  --criterion transformer_dc --source-lang en --target-lang de --max-update 7200 \
  --save-interval-updates 360 --keep-interval-updates 5 --no-epoch-checkpoints --log-format json \
  --log-interval 10 --encoder-layers 4 --decoder-layers 4 --encoder-embed-dim 128 \
  --decoder-embed-dim 128 --encoder-ffn-embed-dim 256 --decoder-ffn-embed-dim 256 \
  --encoder-attention-heads 4 --decoder-attention-heads 4 --share-all-embeddings --dropout 0.1 \
  --label-smoothing 0.1 --clip-norm 1.0 --max-tokens "$MAX_TOKENS" --update-freq "$UPDATE_FREQ" \
  --optimizer adam --adam-betas '(0.9, 0.98)' --lr 3e-3 --lr-scheduler cosine \
  --warmup-updates 800 --seed "$SEED" --distributed-world-size "$PROCESSES" $CPU \
  --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_dc: average the last 5 checkpoints
mkdir -p "$RUN/average/"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_dc: translate the test set
mkdir -p "$RUN/generate/"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_dc --source-lang en \
  --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 5 --max-tokens 4096 --max-len-a 2 --max-len-b 20 2>&1 |
  tee "$RUN/generate.log"

# transformer_dc: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.de" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json"
