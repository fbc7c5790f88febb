#!/usr/bin/env bash
# Made by: dc-nmt run wmt13_es_en gru_selfattn_residual --gpus 1 --dry-run
# Run it with the environment's programs on PATH: bash FILE
set -euo pipefail
USER_DIR=$(python -P -c "import dc_nmt_plugin; print(dc_nmt_plugin.__path__[0])")

DATA=runs/wmt13_es_en/data
mkdir -p "$DATA"

# text of wmt13_es_en
mkdir "$DATA/raw"
dc-nmt recipe text wmt13_es_en --work "$DATA/corpora" --downloads runs/downloads \
  --out "$DATA/raw"

# learn and apply BPE (50000 operations)
mkdir "$DATA/bpe"
dc-nmt recipe learn-pieces subword-nmt 50000 "$DATA/bpe/codes.es" "$DATA/raw/tokenised/train.es"
for file in train.es valid.es test.es; do
  dc-nmt recipe apply-pieces "$DATA/bpe/codes.es" "$DATA/raw/tokenised/$file" "$DATA/bpe/$file"
done
dc-nmt recipe learn-pieces subword-nmt 50000 "$DATA/bpe/codes.en" "$DATA/raw/tokenised/train.en"
for file in train.en valid.en test.en; do
  dc-nmt recipe apply-pieces "$DATA/bpe/codes.en" "$DATA/raw/tokenised/$file" "$DATA/bpe/$file"
done
dc-nmt recipe clean "$DATA/bpe" es en 50 0

# fairseq-preprocess
fairseq-preprocess --user-dir "$USER_DIR" --source-lang es --target-lang en \
  --trainpref "$DATA/bpe/train" --validpref "$DATA/bpe/valid" --testpref "$DATA/bpe/test" \
  --workers 2 --destdir "$DATA/bin"

RUN=runs/wmt13_es_en/gru_selfattn_residual-s1
# wmt13_es_en: WMT 2013 Spanish-English
# Self-attentive residual decoder, 6.2: e = 500, d = 1,024, training sentences of at most 50
# tokens, dropout 0.5, Adadelta (eps 1e-6, rho 0.95), weights from N(0, 0.01^2), a loss that is
# a mean over sentences (equation 1). Chosen: 4,000 tokens an update, 250,000 updates (its 7 to
# 12 days at 1,000 words a second are about 150,000 to 260,000), clipping at 1 (dl4mt), the
# checkpoint with the best validation loss, beam 5.
# 4,000 tokens per update = 1 x 4,000 (--max-tokens) x 1 (--update-freq)

# gru_selfattn_residual: train 250,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch gru_selfattn_residual \
  --task gru_selfattn_residual --criterion gru_selfattn_residual --source-lang es \
  --target-lang en --max-update 250000 --save-interval-updates 5000 --keep-interval-updates 1 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.5 --label-smoothing 0 \
  --clip-norm 1.0 --sentence-avg --weight-init normal --optimizer adadelta --adadelta-rho 0.95 \
  --adadelta-eps 1e-6 --lr 1.0 --lr-scheduler fixed --max-tokens 4000 --update-freq 1 --seed 1 \
  --distributed-world-size 1 --save-dir "$RUN/checkpoints"

# gru_selfattn_residual: take the best checkpoint
mkdir -p "$RUN/average"
dc-nmt average "$RUN/checkpoints/checkpoint_best.pt" --out "$RUN/average/checkpoint.pt"

# gru_selfattn_residual: translate the test set
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task gru_selfattn_residual --source-lang es \
  --target-lang en --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 5 --lenpen 1 --max-len-a 1 --max-len-b 50 \
  --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# gru_selfattn_residual: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.es" --reference "$DATA/raw/test.en" --source-lang es --target-lang en \
  --tokenizer moses-a --tokenized-reference "$DATA/raw/tokenised/test.en" --truecased \
  --paper multi-bleu-lc --detokenized "$RUN/hypotheses.en" --out "$RUN/run.json"

dc-nmt results "$RUN" --finished
