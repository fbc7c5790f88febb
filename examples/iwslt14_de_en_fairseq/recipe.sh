#!/usr/bin/env bash
# Made by: dc-nmt run iwslt14_de_en_fairseq transformer_dc --gpus 1 --dry-run
# Run it with the environment's programs on PATH: bash FILE
set -euo pipefail
USER_DIR=$(python -P -c "import dc_nmt_plugin; print(dc_nmt_plugin.__path__[0])")

DATA=runs/iwslt14_de_en_fairseq/data
mkdir -p "$DATA"

# text of iwslt14_de_en_fairseq
mkdir "$DATA/raw"
dc-nmt recipe text iwslt14_de_en_fairseq --work "$DATA/corpora" --downloads runs/downloads \
  --out "$DATA/raw"

# learn and apply BPE (10000 operations)
mkdir "$DATA/bpe"
dc-nmt recipe learn-pieces subword-nmt 10000 "$DATA/bpe/codes" "$DATA/raw/tokenised/train.de" \
  "$DATA/raw/tokenised/train.en"
for file in train.de valid.de test.de train.en valid.en test.en; do
  dc-nmt recipe apply-pieces "$DATA/bpe/codes" "$DATA/raw/tokenised/$file" "$DATA/bpe/$file"
done

# fairseq-preprocess
fairseq-preprocess --user-dir "$USER_DIR" --source-lang de --target-lang en --joined-dictionary \
  --trainpref "$DATA/bpe/train" --validpref "$DATA/bpe/valid" --testpref "$DATA/bpe/test" \
  --workers 2 --destdir "$DATA/bin"

RUN=runs/iwslt14_de_en_fairseq/transformer_dc_iwslt_ff512-s1
# iwslt14_de_en_fairseq: IWSLT 2014 German-English, fairseq's split
# Dual contextual module, 5.2 and 5.3, and thesis, Table 5.1: d_ff = 512, otherwise as thesis
# 3.3. Chosen: peak learning rate, warm-up, clipping, mean of the last 5 checkpoints, longest
# output.
# 2,048 tokens per update = 1 x 2,048 (--max-tokens) x 1 (--update-freq)

# transformer_dc_iwslt_ff512: train 200,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_dc_iwslt_ff512 \
  --task transformer_dc --criterion transformer_dc --source-lang de --target-lang en \
  --max-update 200000 --save-interval-updates 4000 --keep-interval-updates 5 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 \
  --clip-norm 1.0 --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --lr 1e-3 \
  --lr-scheduler cosine --warmup-updates 4000 --max-tokens 2048 --update-freq 1 --seed 1 \
  --distributed-world-size 1 --save-dir "$RUN/checkpoints"

# transformer_dc_iwslt_ff512: average the last 5 checkpoints
mkdir -p "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_dc_iwslt_ff512: translate the test set
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_dc --source-lang de \
  --target-lang en --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 6 --lenpen 1.1 --length-penalty wu --max-len-a 1 \
  --max-len-b 50 --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# transformer_dc_iwslt_ff512: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.de" --reference "$DATA/raw/test.en" --source-lang de --target-lang en \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.en" --paper multi-bleu-lc \
  --detokenized "$RUN/hypotheses.en" --out "$RUN/run.json"

dc-nmt results "$RUN" --finished
