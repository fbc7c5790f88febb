#!/usr/bin/env bash
# Made by: dc-nmt run wmt17_zh_en transformer_ctxaware --gpus 1 --any-counts --dry-run
# Run it with the environment's programs on PATH: bash FILE
set -euo pipefail
USER_DIR=$(python -P -c "import dc_nmt_plugin; print(dc_nmt_plugin.__path__[0])")

DATA=runs/wmt17_zh_en/data
mkdir -p "$DATA"

# text of wmt17_zh_en
mkdir "$DATA/raw"
dc-nmt recipe text wmt17_zh_en --work "$DATA/corpora" --any-counts --downloads runs/downloads \
  --out "$DATA/raw"

# learn and apply BPE (32000 operations)
mkdir "$DATA/bpe-separate"
dc-nmt recipe learn-pieces subword-nmt 32000 "$DATA/bpe-separate/codes.zh" \
  "$DATA/raw/tokenised/train.zh"
for file in train.zh valid.zh test.zh; do
  dc-nmt recipe apply-pieces "$DATA/bpe-separate/codes.zh" "$DATA/raw/tokenised/$file" \
    "$DATA/bpe-separate/$file"
done
dc-nmt recipe learn-pieces subword-nmt 32000 "$DATA/bpe-separate/codes.en" \
  "$DATA/raw/tokenised/train.en"
for file in train.en valid.en test.en; do
  dc-nmt recipe apply-pieces "$DATA/bpe-separate/codes.en" "$DATA/raw/tokenised/$file" \
    "$DATA/bpe-separate/$file"
done
dc-nmt recipe clean "$DATA/bpe-separate" zh en 1023 0

# fairseq-preprocess
fairseq-preprocess --user-dir "$USER_DIR" --source-lang zh --target-lang en \
  --trainpref "$DATA/bpe-separate/train" --validpref "$DATA/bpe-separate/valid" \
  --testpref "$DATA/bpe-separate/test" --workers 2 --destdir "$DATA/bin-separate"

RUN=runs/wmt17_zh_en/transformer_ctxaware_unshared-s1
# wmt17_zh_en: WMT 2017 Chinese-English
# Context-aware self-attention, "Setup": 8 GPUs with 4,096 tokens each, otherwise Vaswani et al.
# 2017 (from there: schedule, 100,000 updates of the base size, beam 4, length penalty 0.6).
# Parameter counts say that no embeddings are shared. Chosen: mean of the last 5 checkpoints.
# 32,768 tokens per update = 1 x 4,096 (--max-tokens) x 8 (--update-freq)

# transformer_ctxaware_unshared: train 100,000 updates
fairseq-train "$DATA/bin-separate" --user-dir "$USER_DIR" --arch transformer_ctxaware_unshared \
  --task transformer_ctxaware --criterion transformer_ctxaware --source-lang zh --target-lang en \
  --max-update 100000 --save-interval-updates 2000 --keep-interval-updates 5 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 \
  --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 7e-4 \
  --lr-scheduler inverse_sqrt --warmup-updates 4000 --warmup-init-lr 1e-7 --max-tokens 4096 \
  --update-freq 8 --seed 1 --distributed-world-size 1 --save-dir "$RUN/checkpoints"

# transformer_ctxaware_unshared: average the last 5 checkpoints
mkdir -p "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_ctxaware_unshared: translate the test set
fairseq-generate "$DATA/bin-separate" --user-dir "$USER_DIR" --task transformer_ctxaware \
  --source-lang zh --target-lang en --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 4 --lenpen 0.6 --length-penalty wu --max-len-a 1 \
  --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# transformer_ctxaware_unshared: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.zh" --reference "$DATA/raw/test.en" --source-lang zh --target-lang en \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.en" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.en" --out "$RUN/run.json"

dc-nmt results "$RUN" --finished
