#!/usr/bin/env bash
# Made by: dc-nmt run wmt16_en_de gru_selfattn_residual --gpus 1 --dry-run
# Run it with the environment's programs on PATH: bash FILE
set -euo pipefail
USER_DIR=$(python -P -c "import dc_nmt_plugin; print(dc_nmt_plugin.__path__[0])")

DATA=runs/wmt16_en_de/data
mkdir -p "$DATA"

# text of wmt16_en_de
mkdir "$DATA/raw"
dc-nmt recipe text wmt16_en_de --work "$DATA/corpora" --downloads runs/downloads \
  --out "$DATA/raw"

# learn and apply BPE (50000 operations)
mkdir "$DATA/bpe"
dc-nmt recipe learn-pieces subword-nmt 50000 "$DATA/bpe/codes.en" "$DATA/raw/tokenised/train.en"
for file in train.en valid.en test.en newstest2015.en newstest2016.en; do
  dc-nmt recipe apply-pieces "$DATA/bpe/codes.en" "$DATA/raw/tokenised/$file" "$DATA/bpe/$file"
done
dc-nmt recipe learn-pieces subword-nmt 50000 "$DATA/bpe/codes.de" "$DATA/raw/tokenised/train.de"
for file in train.de valid.de test.de newstest2015.de newstest2016.de; do
  dc-nmt recipe apply-pieces "$DATA/bpe/codes.de" "$DATA/raw/tokenised/$file" "$DATA/bpe/$file"
done
dc-nmt recipe clean "$DATA/bpe" en de 50 0

# fairseq-preprocess
fairseq-preprocess --user-dir "$USER_DIR" --source-lang en --target-lang de \
  --trainpref "$DATA/bpe/train" --validpref "$DATA/bpe/valid" \
  --testpref "$DATA/bpe/test,$DATA/bpe/newstest2015,$DATA/bpe/newstest2016" --workers 2 \
  --destdir "$DATA/bin"

RUN=runs/wmt16_en_de/gru_selfattn_residual-s1
# wmt16_en_de: WMT 2016 English-German
# Self-attentive residual decoder, 6.2: e = 500, d = 1,024, training sentences of at most 50
# tokens, dropout 0.5, Adadelta (eps 1e-6, rho 0.95), weights from N(0, 0.01^2), a loss that is
# a mean over sentences (equation 1). Chosen: 4,000 tokens an update, 250,000 updates (its 7 to
# 12 days at 1,000 words a second are about 150,000 to 260,000), clipping at 1 (dl4mt), the
# checkpoint with the best validation loss, beam 5.
# 4,000 tokens per update = 1 x 4,000 (--max-tokens) x 1 (--update-freq)

# gru_selfattn_residual: train 250,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch gru_selfattn_residual \
  --task gru_selfattn_residual --criterion gru_selfattn_residual --source-lang en \
  --target-lang de --max-update 250000 --save-interval-updates 5000 --keep-interval-updates 1 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.5 --label-smoothing 0 \
  --clip-norm 1.0 --sentence-avg --weight-init normal --optimizer adadelta --adadelta-rho 0.95 \
  --adadelta-eps 1e-6 --lr 1.0 --lr-scheduler fixed --max-tokens 4000 --update-freq 1 --seed 1 \
  --distributed-world-size 1 --save-dir "$RUN/checkpoints"

# gru_selfattn_residual: take the best checkpoint
mkdir -p "$RUN/average"
dc-nmt average "$RUN/checkpoints/checkpoint_best.pt" --out "$RUN/average/checkpoint.pt"

# gru_selfattn_residual: translate the test set
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

dc-nmt results "$RUN" --finished
