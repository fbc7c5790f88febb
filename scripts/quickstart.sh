#!/usr/bin/env bash
# From nothing to trained, scored and compared models, offline once the environment is there.
#
# usage: scripts/quickstart.sh [--pair en-de] [--arch "transformer_standard transformer_dc"]
#          [--out quickstart_out] [--updates 700] [--seed 1] [--python VERSION] [-- FLAGS…]
#   --pair     source-target, two of en, de, es, fr, ro, vi, zh
#   --arch     architectures of the plugin, separated by spaces or commas
#   --out      folder of everything that is made; a second call continues there
#   --updates  training updates of each model
#   --seed     of the corpus and of the training
#   --python   as in scripts/setup.sh
#   --         what follows goes to fairseq-train as it is, such as: -- --cpu
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/recipe.sh"

pair=en-de arch="transformer_standard transformer_dc" out=quickstart_out seed=1 UPDATES=700
setup=() extra=()
while [ $# -gt 0 ]; do
  case $1 in
    --pair) flag_value "$1" $#; pair=$2; shift ;;
    --arch) flag_value "$1" $#; arch=$2; shift ;;
    --out) flag_value "$1" $#; out=$2; shift ;;
    --updates) flag_value "$1" $#; positive "$1" "$2"; UPDATES=$2; shift ;;
    --seed) flag_value "$1" $#; positive "$1" "$2"; seed=$2; shift ;;
    --python) flag_value "$1" $#; setup=(--python "$2"); shift ;;
    --) shift; extra=("$@"); break ;;
    -h | --help) sed -n '2,/^set -/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit 0 ;;
    *) die "unknown option '$1'; choose among --pair, --arch, --out, --updates, --seed, --python, --help" ;;
  esac
  shift
done
language="(en|de|es|fr|ro|vi|zh)"
if ! [[ $pair =~ ^$language-$language$ ]] || [ "${pair%-*}" = "${pair#*-}" ]; then
  die "--pair '$pair' is not SOURCE-TARGET with two different ones of en, de, es, fr, ro, vi, zh"
fi
stop_gently

use_environment ${setup[@]+"${setup[@]}"}
recipe_architectures "$arch"

# Read by recipe.sh.
# shellcheck disable=SC2034
{
  SRC=${pair%-*} TGT=${pair#*-} WORK=$out/$pair TOKENIZER=split BPE_OPS=2000
  SAVE_EVERY=$(((UPDATES + 19) / 20)) AVERAGE=$((UPDATES < 3 ? UPDATES : 3))
  TRAIN_FLAGS=(
    --encoder-layers 2 --decoder-layers 2 --encoder-embed-dim 128 --decoder-embed-dim 128
    --encoder-ffn-embed-dim 256 --decoder-ffn-embed-dim 256
    --encoder-attention-heads 4 --decoder-attention-heads 4 --share-all-embeddings
    --dropout 0.1 --label-smoothing 0.1 --clip-norm 1.0 --max-tokens 2048
    --optimizer adam --adam-betas "(0.9, 0.98)" --lr 2e-3
    --lr-scheduler cosine --warmup-updates "$(((UPDATES + 9) / 10))"
    --seed "$seed" ${extra[@]+"${extra[@]}"}
  )
  GENERATE_FLAGS=(--beam 5 --max-tokens 4096 --max-len-a 2 --max-len-b 20)
}

make_corpus() {
  quietly dc-nmt corpus --source-lang "$SRC" --target-lang "$TGT" --seed "$seed" --out "$1"
}

lock_data
RAW=$WORK/corpus
step "make the $pair corpus" "$RAW" "$(digest 1 "$pair" "$seed")" make_corpus
recipe_prepare
unlock_data
results=()
for name in "${ARCHITECTURES[@]}"; do
  recipe_model "$name" "$WORK/$name"
  results+=("$WORK/$name/score/result.json")
done
say "done; everything is in $WORK"
echo
dc-nmt report "${results[@]}"
