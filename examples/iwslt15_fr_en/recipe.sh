#!/usr/bin/env bash
# Made by: dc-nmt run iwslt15_fr_en transformer_dc --gpus 1 --dry-run
# Run it with the environment's programs on PATH: bash FILE
set -euo pipefail
USER_DIR=$(python -P -c "import dc_nmt_plugin; print(dc_nmt_plugin.__path__[0])")

DATA=runs/iwslt15_fr_en/data
mkdir -p "$DATA"

# text of iwslt15_fr_en
mkdir "$DATA/raw"
dc-nmt recipe text iwslt15_fr_en --work "$DATA/corpora" --downloads runs/downloads \
  --out "$DATA/raw"

# learn and apply BPE (31000 operations)
mkdir "$DATA/bpe"
dc-nmt recipe learn-pieces subword-nmt 31000 "$DATA/bpe/codes" "$DATA/raw/tokenised/train.fr" \
  "$DATA/raw/tokenised/train.en"
for file in train.fr valid.fr test.fr train.en valid.en test.en; do
  dc-nmt recipe apply-pieces "$DATA/bpe/codes" "$DATA/raw/tokenised/$file" "$DATA/bpe/$file"
done
dc-nmt recipe clean "$DATA/bpe" fr en 150 9

# fairseq-preprocess
fairseq-preprocess --user-dir "$USER_DIR" --source-lang fr --target-lang en --joined-dictionary \
  --trainpref "$DATA/bpe/train" --validpref "$DATA/bpe/valid" --testpref "$DATA/bpe/test" \
  --workers 2 --destdir "$DATA/bin"

RUN=runs/iwslt15_fr_en/transformer_dc_iwslt_ff512-s1
# iwslt15_fr_en: IWSLT 2015 French-English
# Dual contextual module, 5.2 and 5.3, and thesis, Table 5.1: d_ff = 512, otherwise as thesis
# 3.3. Chosen: peak learning rate, warm-up, clipping, mean of the last 5 checkpoints, longest
# output.
# 2,048 tokens per update = 1 x 2,048 (--max-tokens) x 1 (--update-freq)

# transformer_dc_iwslt_ff512: train 200,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_dc_iwslt_ff512 \
  --task transformer_dc --criterion transformer_dc --source-lang fr --target-lang en \
  --max-update 200000 --save-interval-updates 4000 --keep-interval-updates 5 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 \
  --clip-norm 1.0 --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 1e-3 \
  --lr-scheduler cosine --warmup-updates 4000 --max-tokens 2048 --update-freq 1 --seed 1 \
  --distributed-world-size 1 --save-dir "$RUN/checkpoints"

# transformer_dc_iwslt_ff512: average the last 5 checkpoints
mkdir -p "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_dc_iwslt_ff512: translate the test set
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_dc --source-lang fr \
  --target-lang en --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 6 --lenpen 1.1 --length-penalty wu --max-len-a 1 \
  --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# transformer_dc_iwslt_ff512: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.fr" --reference "$DATA/raw/test.en" --source-lang fr --target-lang en \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.en" --paper multi-bleu \
  --detokenized "$RUN/hypotheses.en" --out "$RUN/run.json"

dc-nmt results "$RUN" --finished
