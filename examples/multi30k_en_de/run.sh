#!/usr/bin/env bash
# Multi30k task 1, English to German: from the raw text to a scored model. Each step that is
# done is not repeated; an interrupted training continues from its last checkpoint.
#
# usage: examples/multi30k_en_de/run.sh [--arch transformer_standard] [--size tiny|iwslt]
#          [--updates 2800] [--batch-tokens 2048] [--lr 2e-3] [--warmup 400] [--average 5]
#          [--seed 1] [--threads N] [--name NAME] [--out runs/multi30k_en_de] [--raw DIR]
#          [--python VERSION] [-- FLAGS…]
#   --arch          architectures of the plugin, separated by spaces or commas
#   --size          tiny: 4+4 layers of 128/256, 4 heads; iwslt: 4+4 layers of 256/1024, 4 heads
#   --updates       training updates; 144 of 4096 tokens are one epoch
#   --batch-tokens  padded tokens of a batch, --max-tokens of fairseq-train
#   --lr --warmup   highest learning rate, updates to reach it; half a cosine down to zero follows
#   --average       how many of the last checkpoints are averaged (one every 5% of the updates)
#   --threads       CPU threads of training and translation; default: all
#   --name          folder of the run under --out; default ARCH-SIZE-sSEED
#   --out           folder of the prepared data and the runs
#   --raw           folder with train, val, test_2016_flickr as .en.gz and .de.gz; default
#                   ../shared/data/multi30k beside the project if it is there, else a download
#   --python        as in scripts/setup.sh
#   --              what follows goes to fairseq-train as it is, such as: -- --dropout 0.2
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/lib.sh
source "$HERE/../../scripts/lib.sh"
# shellcheck source=scripts/recipe.sh
source "$HERE/../../scripts/recipe.sh"

arch=transformer_standard size=tiny batch_tokens=2048 lr=2e-3 warmup=400 seed=1
name="" out=runs/multi30k_en_de raw=""
UPDATES=2800 AVERAGE=5
setup=() extra=()
while [ $# -gt 0 ]; do
  case $1 in
    --arch) flag_value "$1" $#; arch=$2; shift ;;
    --size) flag_value "$1" $#; size=$2; shift ;;
    --updates) flag_value "$1" $#; positive "$1" "$2"; UPDATES=$2; shift ;;
    --batch-tokens) flag_value "$1" $#; positive "$1" "$2"; batch_tokens=$2; shift ;;
    --lr) flag_value "$1" $#; lr=$2; shift ;;
    --warmup) flag_value "$1" $#; positive "$1" "$2"; warmup=$2; shift ;;
    --average) flag_value "$1" $#; positive "$1" "$2"; AVERAGE=$2; shift ;;
    --seed) flag_value "$1" $#; positive "$1" "$2"; seed=$2; shift ;;
    --threads) flag_value "$1" $#; positive "$1" "$2"; export OMP_NUM_THREADS=$2; shift ;;
    --name) flag_value "$1" $#; name=$2; shift ;;
    --out) flag_value "$1" $#; out=$2; shift ;;
    --raw) flag_value "$1" $#; raw=$2; shift ;;
    --python) flag_value "$1" $#; setup=(--python "$2"); shift ;;
    --) shift; extra=("$@"); break ;;
    -h | --help) sed -n '2,/^set -/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit 0 ;;
    *) die "unknown option '$1'; see --help" ;;
  esac
  shift
done
case $size in
  tiny) width=128 inner=256 ;;
  iwslt) width=256 inner=1024 ;;
  *) die "--size '$size' is unknown; choose tiny or iwslt" ;;
esac
[ "$warmup" -lt "$UPDATES" ] || die "--warmup $warmup is not below --updates $UPDATES"
# A checkpoint every 5% of the updates, and the last update always is one.
SAVE_EVERY=$(((UPDATES + 19) / 20))
((AVERAGE <= UPDATES / SAVE_EVERY)) ||
  die "--average $AVERAGE is more than the $((UPDATES / SAVE_EVERY)) checkpoints of --updates $UPDATES"
trap 'echo; die "stopped; the same command continues where it stopped"' INT TERM

use_environment ${setup[@]+"${setup[@]}"}
recipe_architectures "$arch"
[ -z "$name" ] || [ ${#ARCHITECTURES[@]} -eq 1 ] || die "--name '$name' goes with one architecture"

# Read by recipe.sh.
# shellcheck disable=SC2034
{
  SRC=en TGT=de WORK=$out/data TOKENIZER=moses BPE_OPS=4000
  TRAIN_FLAGS=(
    --encoder-layers 4 --decoder-layers 4
    --encoder-embed-dim "$width" --decoder-embed-dim "$width"
    --encoder-ffn-embed-dim "$inner" --decoder-ffn-embed-dim "$inner"
    --encoder-attention-heads 4 --decoder-attention-heads 4 --share-all-embeddings
    --dropout 0.1 --label-smoothing 0.1 --clip-norm 1.0 --max-tokens "$batch_tokens"
    --optimizer adam --adam-betas "(0.9, 0.98)" --lr "$lr"
    --lr-scheduler cosine --warmup-updates "$warmup"
    --seed "$seed" ${extra[@]+"${extra[@]}"}
  )
  GENERATE_FLAGS=(--beam 5 --max-tokens 4096 --max-len-a 2 --max-len-b 20)
}

FILES=(train val test_2016_flickr)
HOME_URL=${MULTI30K_URL:-https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw}

# raw_text FOLDER: FOLDER/{train,valid,test}.{en,de}, from files whose checksums are known.
raw_text() {
  local from=$raw file lang
  [ -n "$from" ] || from=$ROOT/../shared/data/multi30k
  if [ -n "$raw" ] || [ -d "$from" ]; then
    for file in "${FILES[@]}"; do
      for lang in en de; do
        [ -f "$from/$file.$lang.gz" ] || die "$from/$file.$lang.gz is missing; --raw needs a folder with ${FILES[*]} as .en.gz and .de.gz"
        cp "$from/$file.$lang.gz" "$1/"
      done
    done
  else
    need curl "install it, or name a folder with the files by --raw"
    for file in "${FILES[@]}"; do
      for lang in en de; do
        say "  $file.$lang.gz"
        quietly curl --fail --location --silent --show-error --retry 3 \
          --output "$1/$file.$lang.gz" "$HOME_URL/$file.$lang.gz"
      done
    done
  fi
  (cd "$1" && sha256sum --check --quiet "$HERE/checksums.sha256") >>"$LOG" 2>&1 ||
    die "these are not the files of Multi30k task 1: $(grep -m 1 FAILED "$LOG") (see $HERE/checksums.sha256)"
  for lang in en de; do
    gzip -dc "$1/train.$lang.gz" >"$1/train.$lang"
    gzip -dc "$1/val.$lang.gz" >"$1/valid.$lang"
    gzip -dc "$1/test_2016_flickr.$lang.gz" >"$1/test.$lang"
  done
  rm "$1"/*.gz
}

lock_data
RAW=$WORK/raw
step "raw text of Multi30k" "$RAW" "$(file_digest "$HERE/checksums.sha256")" raw_text
recipe_prepare
unlock_data
results=()
for model in "${ARCHITECTURES[@]}"; do
  run=$out/${name:-$model-$size-s$seed}
  recipe_model "$model" "$run"
  results+=("$run/score/result.json")
done
echo
dc-nmt report "${results[@]}"
