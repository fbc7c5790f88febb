#!/usr/bin/env bash
# Made by: dc-nmt run wmt14_en_de transformer_dc --gpus 1 --dry-run
# Run it with the environment's programs on PATH: bash FILE
set -euo pipefail
USER_DIR=$(python -P -c "import dc_nmt_plugin; print(dc_nmt_plugin.__path__[0])")

DATA=runs/wmt14_en_de/data
mkdir -p "$DATA"

# text of wmt14_en_de
mkdir "$DATA/raw"
dc-nmt recipe text wmt14_en_de --work "$DATA/corpora" --downloads runs/downloads \
  --out "$DATA/raw"

# learn and apply BPE (32000 operations)
mkdir "$DATA/bpe"
dc-nmt recipe learn-pieces subword-nmt 32000 "$DATA/bpe/codes" "$DATA/raw/tokenised/train.en" \
  "$DATA/raw/tokenised/train.de"
for file in train.en valid.en test.en train.de valid.de test.de; do
  dc-nmt recipe apply-pieces "$DATA/bpe/codes" "$DATA/raw/tokenised/$file" "$DATA/bpe/$file"
done
dc-nmt recipe clean "$DATA/bpe" en de 200 0

# fairseq-preprocess
fairseq-preprocess --user-dir "$USER_DIR" --source-lang en --target-lang de --joined-dictionary \
  --trainpref "$DATA/bpe/train" --validpref "$DATA/bpe/valid" --testpref "$DATA/bpe/test" \
  --workers 2 --destdir "$DATA/bin"

RUN=runs/wmt14_en_de/transformer_dc-s1
# wmt14_en_de: WMT 2014 English-German
# Dual contextual module, 5.2 and 5.3; thesis, 3.3, 4.3 and 5.4: base size, 4,960 tokens,
# 160,000 updates, one cosine cycle with warm-up, beam 4, length penalty 0.6. Chosen: peak
# learning rate, warm-up, clipping, mean of the last 5 checkpoints, longest output.
# 4,960 tokens per update = 1 x 4,960 (--max-tokens) x 1 (--update-freq)

# transformer_dc: train 160,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_dc --task transformer_dc \
  --criterion transformer_dc --source-lang en --target-lang de --max-update 160000 \
  --save-interval-updates 10000 --keep-interval-updates 5 --no-epoch-checkpoints \
  --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 --clip-norm 1.0 \
  --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 7e-4 --lr-scheduler cosine \
  --warmup-updates 4000 --max-tokens 4960 --update-freq 1 --seed 1 --distributed-world-size 1 \
  --save-dir "$RUN/checkpoints"

# transformer_dc: average the last 5 checkpoints
mkdir -p "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_dc: translate the test set
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_dc --source-lang en \
  --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 4 --lenpen 0.6 --length-penalty wu --max-len-a 1 \
  --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# transformer_dc: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses-a --tokenized-reference "$DATA/raw/tokenised/test.de" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json"

dc-nmt results "$RUN" --finished
