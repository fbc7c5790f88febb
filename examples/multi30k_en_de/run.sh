#!/usr/bin/env bash
# Multi30k from the raw text to scored models: scripts/prepare.sh, then scripts/train.sh and
# scripts/evaluate.sh for each architecture, then a table.
#
# usage: examples/multi30k_en_de/run.sh [--arch transformer_standard] [--size tiny|iwslt]
#          [--updates 2800] [--lr 2e-3] [--warmup 400] [--average 5] [--seed 1] [--threads N]
#          [--name NAME] [--out runs/multi30k_en_de] [--raw DIR] [--python VERSION] [-- FLAGS…]
#   --arch       architectures of the plugin, separated by spaces or commas
#   --size       tiny: 4+4 layers of 128/256, 4 heads; iwslt: 4+4 layers of 256/1024, 4 heads
#   --updates    training updates; 144 of 4096 tokens are one epoch
#   --lr --warmup  highest learning rate, updates to reach it; half a cosine down to zero follows
#   --average    how many of the last checkpoints are averaged
#   --threads    CPU threads of training and translation; default: all
#   --name       folder of the run under --out; default ARCH-SIZE-sSEED
#   --out        folder of the prepared data and the runs
#   --raw        folder with the files, see recipe.ini
#   --python     as in scripts/setup.sh
#   --           what follows goes to fairseq-train as it is, such as: -- --dropout 0.2
set -euo pipefail
SCRIPTS=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)
# shellcheck source=scripts/lib.sh
source "$SCRIPTS/lib.sh"
# shellcheck source=scripts/recipe.sh
source "$SCRIPTS/recipe.sh"

arch=transformer_standard size=tiny seed=1 name="" out=runs/multi30k_en_de
setup=() raw=() train=() average=() extra=()
while [ $# -gt 0 ]; do
  case $1 in
    --arch) flag_value "$1" $#; arch=$2; shift ;;
    --size) flag_value "$1" $#; size=$2; shift ;;
    --updates) flag_value "$1" $#; positive "$1" "$2"; train+=(--max-update "$2"); shift ;;
    --lr) flag_value "$1" $#; train+=(--lr "$2"); shift ;;
    --warmup) flag_value "$1" $#; positive "$1" "$2"; train+=(--warmup-updates "$2"); shift ;;
    --average) flag_value "$1" $#; positive "$1" "$2"; average=(--average "$2"); shift ;;
    --seed) flag_value "$1" $#; positive "$1" "$2"; seed=$2; shift ;;
    --threads) flag_value "$1" $#; positive "$1" "$2"; export OMP_NUM_THREADS=$2; shift ;;
    --name) flag_value "$1" $#; name=$2; shift ;;
    --out) flag_value "$1" $#; out=$2; shift ;;
    --raw) flag_value "$1" $#; raw=(--raw "$2"); shift ;;
    --python) flag_value "$1" $#; setup=(--python "$2"); shift ;;
    --) shift; extra=("$@"); break ;;
    -h | --help) sed -n '2,/^set -/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit 0 ;;
    *) die "unknown option '$1'; see --help" ;;
  esac
  shift
done
case $size in
  tiny) ;;
  iwslt)
    train+=(--encoder-embed-dim 256 --decoder-embed-dim 256
      --encoder-ffn-embed-dim 1024 --decoder-ffn-embed-dim 1024)
    ;;
  *) die "--size '$size' is unknown; choose tiny or iwslt" ;;
esac
read -r -a architectures <<<"${arch//,/ }"
[ ${#architectures[@]} -gt 0 ] || die "--arch is empty: name at least one architecture"
[ -z "$name" ] || [ ${#architectures[@]} -eq 1 ] || die "--name '$name' goes with one architecture"

"$SCRIPTS/prepare.sh" multi30k_en_de --out "$out" ${raw[@]+"${raw[@]}"} ${setup[@]+"${setup[@]}"}
results=()
for model in "${architectures[@]}"; do
  run=${name:-$model-$size-s$seed}
  common=(multi30k_en_de "$model" --out "$out" --seed "$seed" --name "$run"
    ${setup[@]+"${setup[@]}"} ${average[@]+"${average[@]}"})
  "$SCRIPTS/train.sh" "${common[@]}" ${train[@]+"${train[@]}"} ${extra[@]+-- "${extra[@]}"}
  "$SCRIPTS/evaluate.sh" "${common[@]}"
  results+=("$out/$run/score/result.json")
done
use_environment ${setup[@]+"${setup[@]}"}
echo
dc-nmt report "${results[@]}"
