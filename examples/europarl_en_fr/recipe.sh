#!/usr/bin/env bash
# Made by: dc-nmt run europarl_en_fr --dry-run
# Run it with the environment's programs on PATH, such as: SEED=2 bash FILE
# shellcheck disable=SC2046,SC2086
set -euo pipefail
DATA=${DATA:-runs/europarl_en_fr/data} # the prepared text
OUT=${OUT:-runs/europarl_en_fr} # the runs
SEED=${SEED:-1}
GPUS=${GPUS:-$(python -c "import torch; print(torch.cuda.device_count())")} # 0: the CPU
PROCESSES=$((GPUS > 0 ? GPUS : 1))
CPU=$([ "$GPUS" -gt 0 ] || python -c "from dc_nmt_plugin import machine; print('--cpu', '--amp' if machine.multiplies_bfloat16() else '')")
[ "$GPUS" -gt 0 ] || export CUDA_VISIBLE_DEVICES=
USER_DIR=$(python -c "import dc_nmt_plugin as plugin; print(plugin.__path__[0])")

# text of europarl_en_fr
if [ ! -e "$DATA/raw/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/raw/"
dc-nmt recipe text europarl_en_fr --work "$DATA/corpora" --downloads runs/downloads \
  --out "$DATA/raw"
touch "$DATA/raw/.done"
fi

# learn and apply BPE (10000 operations)
if [ ! -e "$DATA/bpe/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bpe/"
cat "$DATA/raw/tokenised/train.en" "$DATA/raw/tokenised/train.fr" > "$DATA/bpe/both"
subword-nmt learn-bpe -s 10000 -i "$DATA/bpe/both" -o "$DATA/bpe/codes"
rm "$DATA/bpe/both"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/train.en" -o "$DATA/bpe/train.en"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/valid.en" -o "$DATA/bpe/valid.en"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/test.en" -o "$DATA/bpe/test.en"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/europarl.en" -o "$DATA/bpe/europarl.en"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/train.fr" -o "$DATA/bpe/train.fr"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/valid.fr" -o "$DATA/bpe/valid.fr"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/test.fr" -o "$DATA/bpe/test.fr"
subword-nmt apply-bpe -c "$DATA/bpe/codes" --num-workers "$(nproc)" \
  -i "$DATA/raw/tokenised/europarl.fr" -o "$DATA/bpe/europarl.fr"
dc-nmt check-text --counts "$DATA/raw/tokenised/train.en" "$DATA/bpe/train.en" \
  "$DATA/raw/tokenised/train.fr" "$DATA/bpe/train.fr" "$DATA/raw/tokenised/valid.en" \
  "$DATA/bpe/valid.en" "$DATA/raw/tokenised/valid.fr" "$DATA/bpe/valid.fr" \
  "$DATA/raw/tokenised/test.en" "$DATA/bpe/test.en" "$DATA/raw/tokenised/test.fr" \
  "$DATA/bpe/test.fr" "$DATA/raw/tokenised/europarl.en" "$DATA/bpe/europarl.en" \
  "$DATA/raw/tokenised/europarl.fr" "$DATA/bpe/europarl.fr"
dc-nmt recipe clean "$DATA/bpe" en fr 150 0
touch "$DATA/bpe/.done"
fi

# fairseq-preprocess
if [ ! -e "$DATA/bin/.done" ]; then # remove this file to prepare again
mkdir -p "$DATA/bin/"
rm -f "$DATA/bin/dict.en.txt" "$DATA/bin/dict.fr.txt"
fairseq-preprocess --source-lang en --target-lang fr --joined-dictionary \
  --trainpref "$DATA/bpe/train" --validpref "$DATA/bpe/valid" \
  --testpref "$DATA/bpe/test,$DATA/bpe/europarl" --workers "$(nproc)" --destdir "$DATA/bin"
dc-nmt check-text --counts "$DATA/bpe/train.en" "$DATA/bin/train.en-fr.en.idx" \
  "$DATA/bpe/train.fr" "$DATA/bin/train.en-fr.fr.idx" "$DATA/bpe/valid.en" \
  "$DATA/bin/valid.en-fr.en.idx" "$DATA/bpe/valid.fr" "$DATA/bin/valid.en-fr.fr.idx" \
  "$DATA/bpe/test.en" "$DATA/bin/test.en-fr.en.idx" "$DATA/bpe/test.fr" \
  "$DATA/bin/test.en-fr.fr.idx" "$DATA/bpe/europarl.en" "$DATA/bin/test1.en-fr.en.idx" \
  "$DATA/bpe/europarl.fr" "$DATA/bin/test1.en-fr.fr.idx"
touch "$DATA/bin/.done"
fi

RUN=$OUT/transformer_standard_iwslt-s$SEED
UPDATE_FREQ=$(((4096 + PROCESSES * 4096 - 1) / (PROCESSES * 4096)))
MAX_TOKENS=$((4096 / (PROCESSES * UPDATE_FREQ)))
# europarl_en_fr: Europarl and newstest, English-French
# our own schedule, for ten minutes of a GPU: the size of thesis-iwslt, 15,000 updates of 4,096
# tokens, inverse square root with a peak of 1e-3, mean of the last 5 checkpoints, beam 5

# transformer_standard_iwslt: train 15,000 updates
mkdir -p "$RUN/"
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
mkdir -p "$RUN/average/"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_standard_iwslt: translate the test set
mkdir -p "$RUN/generate/"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task translation_dc_nmt --source-lang en \
  --target-lang fr --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 5 --max-len-a 1 --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# transformer_standard_iwslt: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.fr" --source-lang en --target-lang fr \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.fr" \
  --metrics mteval-v13a,mteval-v13a-lc,multi-bleu,chrf --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.fr" --out "$RUN/run.json"

RUN=$OUT/transformer_dc_iwslt-s$SEED
UPDATE_FREQ=$(((4096 + PROCESSES * 4096 - 1) / (PROCESSES * 4096)))
MAX_TOKENS=$((4096 / (PROCESSES * UPDATE_FREQ)))
# europarl_en_fr: Europarl and newstest, English-French
# our own schedule, for ten minutes of a GPU: the size of thesis-iwslt, 15,000 updates of 4,096
# tokens, inverse square root with a peak of 1e-3, mean of the last 5 checkpoints, beam 5

# transformer_dc_iwslt: train 15,000 updates
mkdir -p "$RUN/"
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_dc_iwslt \
  --task transformer_dc --criterion transformer_dc --source-lang en --target-lang fr \
  --max-update 15000 --save-interval-updates 500 --keep-interval-updates 5 --no-epoch-checkpoints \
  --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 --clip-norm 1.0 \
  --optimizer adam --adam-betas '(0.9, 0.98)' --lr 1e-3 --lr-scheduler inverse_sqrt \
  --warmup-updates 2000 --warmup-init-lr 1e-7 \
  --max-tokens "$MAX_TOKENS" --update-freq "$UPDATE_FREQ" --seed "$SEED" \
  --distributed-world-size "$PROCESSES" $CPU --save-dir "$RUN/checkpoints" 2>&1 |
  tee -a "$RUN/train.log"

# transformer_dc_iwslt: average the last 5 checkpoints
mkdir -p "$RUN/average/"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_dc_iwslt: translate the test set
mkdir -p "$RUN/generate/"
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_dc --source-lang en \
  --target-lang fr --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 5 --max-len-a 1 --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# transformer_dc_iwslt: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.fr" --source-lang en --target-lang fr \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.fr" \
  --metrics mteval-v13a,mteval-v13a-lc,multi-bleu,chrf --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.fr" --out "$RUN/run.json"
