#!/usr/bin/env bash
# Made by: dc-nmt run un_en_zh gru_selfattn_residual --gpus 1 --any-counts --dry-run
# Run it with the environment's programs on PATH: bash FILE
set -euo pipefail
USER_DIR=$(python -P -c "import dc_nmt_plugin; print(dc_nmt_plugin.__path__[0])")

DATA=runs/un_en_zh/data
mkdir -p "$DATA"

# text of un_en_zh
mkdir "$DATA/raw"
dc-nmt recipe text un_en_zh --work "$DATA/corpora" --any-counts --downloads runs/downloads \
  --out "$DATA/raw"

# learn and apply BPE (25000 operations)
mkdir "$DATA/bpe"
dc-nmt recipe learn-pieces subword-nmt 25000 "$DATA/bpe/codes.en" "$DATA/raw/tokenised/train.en"
for file in train.en valid.en test.en; do
  dc-nmt recipe apply-pieces "$DATA/bpe/codes.en" "$DATA/raw/tokenised/$file" "$DATA/bpe/$file"
done
dc-nmt recipe learn-pieces subword-nmt 25000 "$DATA/bpe/codes.zh" "$DATA/raw/tokenised/train.zh"
for file in train.zh valid.zh test.zh; do
  dc-nmt recipe apply-pieces "$DATA/bpe/codes.zh" "$DATA/raw/tokenised/$file" "$DATA/bpe/$file"
done
dc-nmt recipe clean "$DATA/bpe" en zh 50 0

# fairseq-preprocess
fairseq-preprocess --user-dir "$USER_DIR" --source-lang en --target-lang zh \
  --trainpref "$DATA/bpe/train" --validpref "$DATA/bpe/valid" --testpref "$DATA/bpe/test" \
  --workers 2 --destdir "$DATA/bin"

RUN=runs/un_en_zh/gru_selfattn_residual-s1
# un_en_zh: UN resolutions English-Chinese
# Self-attentive residual decoder, 6.2: e = 500, d = 1,024, training sentences of at most 50
# tokens, dropout 0.5, Adadelta (eps 1e-6, rho 0.95), weights from N(0, 0.01^2), a loss that is
# a mean over sentences (equation 1). Chosen: 4,000 tokens an update, 250,000 updates (its 7 to
# 12 days at 1,000 words a second are about 150,000 to 260,000), clipping at 1 (dl4mt), the
# checkpoint with the best validation loss, beam 5.
# 4,000 tokens per update = 1 x 4,000 (--max-tokens) x 1 (--update-freq)

# gru_selfattn_residual: train 250,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch gru_selfattn_residual \
  --task gru_selfattn_residual --criterion gru_selfattn_residual --source-lang en \
  --target-lang zh --max-update 250000 --save-interval-updates 5000 --keep-interval-updates 1 \
  --no-epoch-checkpoints --log-format json --log-interval 10 --dropout 0.5 --label-smoothing 0 \
  --clip-norm 1.0 --sentence-avg --weight-init normal --optimizer adadelta --adadelta-rho 0.95 \
  --adadelta-eps 1e-6 --lr 1.0 --lr-scheduler fixed --max-tokens 4000 --update-freq 1 --seed 1 \
  --distributed-world-size 1 --save-dir "$RUN/checkpoints"

# gru_selfattn_residual: take the best checkpoint
mkdir -p "$RUN/average"
dc-nmt average "$RUN/checkpoints/checkpoint_best.pt" --out "$RUN/average/checkpoint.pt"

# gru_selfattn_residual: translate the test set
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task gru_selfattn_residual --source-lang en \
  --target-lang zh --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 5 --lenpen 1 --max-len-a 1 --max-len-b 50 \
  --max-tokens 4096 2>&1 |
  tee "$RUN/generate.log"

# gru_selfattn_residual: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.zh" --source-lang en --target-lang zh \
  --tokenizer none --tokenized-reference "$DATA/raw/tokenised/test.zh" --paper zh-words \
  --detokenized "$RUN/hypotheses.zh" --out "$RUN/run.json"

dc-nmt results "$RUN" --finished
