#!/usr/bin/env bash
# Trains the two models of this folder again, on the made-up text of scripts/toy_text.py.
#
# usage: examples/toy_en_de/models/train.sh FOLDER    # with dc-nmt on PATH; all is written there
set -euo pipefail
out=${1:?usage: train.sh FOLDER}
root=$(cd "$(dirname "$0")/../../.." && pwd)
if [ ! -f "$out/toy_en_de/recipe.yaml" ]; then
  python "$root/scripts/toy_text.py" "$out/text" --pairs 6000
  dc-nmt new "$out/toy_en_de" --train "$out/text/toy.en" "$out/text/toy.de" --bpe 300
  recipe=$out/toy_en_de/recipe.yaml
  sed 's/save_every: .*/save_every: 100/' "$recipe" > "$recipe.new"
  mv "$recipe.new" "$recipe"
fi
train=(dc-nmt run "$out/toy_en_de" --cpu --fp32 --average 1)
# gates in layers 1 and 2, routing in layers 3 and 4, a decoder that reads all four, and fusion
"${train[@]}" transformer_ms_aux_aif --name mixed-s1 --max-update 800 \
  --encoder-layers 4 --encoder-embed-dim 64 --encoder-ffn-embed-dim 128 \
  --decoder-layers 2 --decoder-embed-dim 64 --decoder-ffn-embed-dim 128 \
  --encoder-layers-of 'context_aware*2 cross_aggregation*2' --ctx-context deep-global+deep \
  --source-features m-10 --max-tokens 1024 --update-freq 1 --lr 5e-3 --warmup-updates 100
# attention to earlier target words
"${train[@]}" gru_selfattn_residual --name residual-s1 --max-update 400 \
  --embed-dim 64 --hidden-dim 128 --max-tokens 1024 --update-freq 1 --lr 5e-3 --warmup-updates 50
for model in mixed residual; do
  dc-nmt export "$out/toy_en_de/$model-s1" --run "$out/models/$model-s1"
done
