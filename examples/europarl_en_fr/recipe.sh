#!/usr/bin/env bash
# Made by: dc-nmt run europarl_en_fr transformer_dc --gpus 1 --dry-run
# Run it with the environment's programs on PATH: bash FILE
set -euo pipefail
USER_DIR=$(python -P -c "import dc_nmt_plugin; print(dc_nmt_plugin.__path__[0])")

DATA=runs/europarl_en_fr/data
mkdir -p "$DATA"

# text of europarl_en_fr
mkdir "$DATA/raw"
dc-nmt recipe text europarl_en_fr --work "$DATA/corpora" --downloads runs/downloads \
  --out "$DATA/raw"

# learn and apply BPE (10000 operations)
mkdir "$DATA/bpe"
dc-nmt recipe learn-pieces subword-nmt 10000 "$DATA/bpe/codes" "$DATA/raw/tokenised/train.en" \
  "$DATA/raw/tokenised/train.fr"
for file in train.en valid.en test.en europarl.en train.fr valid.fr test.fr europarl.fr; do
  dc-nmt recipe apply-pieces "$DATA/bpe/codes" "$DATA/raw/tokenised/$file" "$DATA/bpe/$file"
done
dc-nmt recipe clean "$DATA/bpe" en fr 150 0

# fairseq-preprocess
fairseq-preprocess --user-dir "$USER_DIR" --source-lang en --target-lang fr --joined-dictionary \
  --trainpref "$DATA/bpe/train" --validpref "$DATA/bpe/valid" \
  --testpref "$DATA/bpe/test,$DATA/bpe/europarl" --workers 2 --destdir "$DATA/bin"

RUN=runs/europarl_en_fr/transformer_dc_iwslt-s1
# europarl_en_fr: Europarl and newstest, English-French
# our own schedule, for ten minutes of a GPU: the size of thesis-iwslt, 15,000 updates of 4,096
# tokens, inverse square root with a peak of 1e-3, mean of the last 5 checkpoints, beam 5
# 4,096 tokens per update = 1 x 4,096 (--max-tokens) x 1 (--update-freq)

# transformer_dc_iwslt: train 15,000 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_dc_iwslt \
  --task transformer_dc --criterion transformer_dc --source-lang en --target-lang fr \
  --max-update 15000 --save-interval-updates 500 --keep-interval-updates 5 --no-epoch-checkpoints \
  --log-format json --log-interval 10 --dropout 0.1 --label-smoothing 0.1 --clip-norm 1.0 \
  --optimizer adam --adam-betas '(0.9, 0.98)' --lr 1e-3 --lr-scheduler inverse_sqrt \
  --warmup-updates 2000 --warmup-init-lr 1e-7 --max-tokens 4096 --update-freq 1 --seed 1 \
  --distributed-world-size 1 --save-dir "$RUN/checkpoints"

# transformer_dc_iwslt: average the last 5 checkpoints
mkdir -p "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_dc_iwslt: translate the test set
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

dc-nmt results "$RUN" --finished
