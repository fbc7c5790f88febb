#!/usr/bin/env bash
# Made by: dc-nmt run multi30k_en_de transformer_dc --gpus 0 --fp32 --dry-run
# Run it with the environment's programs on PATH: bash FILE
set -euo pipefail
export CUDA_VISIBLE_DEVICES= # the CPU
USER_DIR=$(python -P -c "import dc_nmt_plugin; print(dc_nmt_plugin.__path__[0])")

DATA=runs/multi30k_en_de/data
mkdir -p "$DATA"

# text of multi30k_en_de
mkdir "$DATA/raw"
dc-nmt recipe text multi30k_en_de --work "$DATA/corpora" --downloads runs/downloads \
  --out "$DATA/raw"

# learn and apply BPE (4000 operations)
mkdir "$DATA/bpe"
dc-nmt recipe learn-pieces subword-nmt 4000 "$DATA/bpe/codes" "$DATA/raw/tokenised/train.en" \
  "$DATA/raw/tokenised/train.de"
for file in train.en valid.en test.en train.de valid.de test.de; do
  dc-nmt recipe apply-pieces "$DATA/bpe/codes" "$DATA/raw/tokenised/$file" "$DATA/bpe/$file"
done

# fairseq-preprocess
fairseq-preprocess --user-dir "$USER_DIR" --source-lang en --target-lang de --joined-dictionary \
  --trainpref "$DATA/bpe/train" --validpref "$DATA/bpe/valid" --testpref "$DATA/bpe/test" \
  --workers 2 --destdir "$DATA/bin"

RUN=runs/multi30k_en_de/transformer_dc-tiny-s1
# multi30k_en_de: Multi30k task 1, image captions
# our own schedule, for two CPU cores: 4+4 layers of 128/256, 7,200 updates
# 2,048 tokens per update = 1 x 2,048 (--max-tokens) x 1 (--update-freq)

# transformer_dc: train 7,200 updates
fairseq-train "$DATA/bin" --user-dir "$USER_DIR" --arch transformer_dc --task transformer_dc \
  --criterion transformer_dc --source-lang en --target-lang de --max-update 7200 \
  --save-interval-updates 360 --keep-interval-updates 5 --no-epoch-checkpoints --log-format json \
  --log-interval 10 --encoder-layers 4 --decoder-layers 4 --encoder-embed-dim 128 \
  --decoder-embed-dim 128 --encoder-ffn-embed-dim 256 --decoder-ffn-embed-dim 256 \
  --encoder-attention-heads 4 --decoder-attention-heads 4 --share-all-embeddings --dropout 0.1 \
  --label-smoothing 0.1 --clip-norm 1.0 --optimizer adam --adam-betas '(0.9, 0.98)' --lr 3e-3 \
  --lr-scheduler cosine --warmup-updates 800 --max-tokens 2048 --update-freq 1 --seed 1 \
  --distributed-world-size 1 --cpu --save-dir "$RUN/checkpoints"

# transformer_dc: average the last 5 checkpoints
mkdir -p "$RUN/average"
dc-nmt average "$RUN/checkpoints" --last 5 --kind update --out "$RUN/average/checkpoint.pt"

# transformer_dc: translate the test set
fairseq-generate "$DATA/bin" --user-dir "$USER_DIR" --task transformer_dc --source-lang en \
  --target-lang de --path "$RUN/average/checkpoint.pt" --gen-subset test \
  --results-path "$RUN/generate" --beam 5 --max-tokens 4096 --max-len-a 2 --max-len-b 20 2>&1 |
  tee "$RUN/generate.log"

# transformer_dc: score
dc-nmt score "$RUN/generate/generate-test.txt" --generate-log "$RUN/generate.log" \
  --source "$DATA/raw/test.en" --reference "$DATA/raw/test.de" --source-lang en --target-lang de \
  --tokenizer moses --tokenized-reference "$DATA/raw/tokenised/test.de" --paper mteval-v13a \
  --detokenized "$RUN/hypotheses.de" --out "$RUN/run.json"

dc-nmt results "$RUN" --finished
