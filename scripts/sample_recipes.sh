#!/usr/bin/env bash
# Run every recipe small, from files made up in its campaign's own format, without a network:
# prepare, train, evaluate; then a table of the seconds and of the paper's line.
#
# usage: scripts/sample_recipes.sh [--pairs 1000] [--out runs/samples] [--python VERSION] [TASK:ARCH…]
#   --pairs      training pairs of each sample; the scripts' --sample
#   --out        folder of the made-up files, the runs and the logs
#   --python     as in scripts/setup.sh
#   TASK:ARCH    these only; default: every recipe, each with another architecture
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/recipe.sh"

pairs=1000 out=runs/samples setup=() samples=()
while [ $# -gt 0 ]; do
  case $1 in
    --pairs) flag_value "$1" $#; positive "$1" "$2"; pairs=$2; shift ;;
    --out) flag_value "$1" $#; out=$2; shift ;;
    --python) flag_value "$1" $#; setup=(--python "$2"); shift ;;
    -h | --help) sed -n '2,/^set -/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit 0 ;;
    ?*:?*) samples+=("$1") ;;
    *) die "'$1' is neither an option nor TASK:ARCH; see --help" ;;
  esac
  shift
done
[ ${#samples[@]} -gt 0 ] || samples=(
  iwslt14_de_en:transformer_ms_aux_aif iwslt14_de_en_fairseq:transformer_dc
  iwslt14_es_en:transformer_mlmha iwslt14_ro_en:transformer_mlmha_s_agg
  iwslt15_en_vi:transformer_ms_aux iwslt15_fr_en:transformer_mlmha_iter_c_agg
  multi30k_en_de:transformer_standard un_en_zh:gru_selfattn_residual
  wmt13_es_en:gru_selfattn_residual_mean wmt14_en_de:transformer_ctxaware
  wmt17_zh_en:transformer_cross_agg)
stop_gently
use_environment ${setup[@]+"${setup[@]}"}

# timed NAME COMMAND…: run it into $files/NAME.log; SECONDS_OF[NAME].
declare -A SECONDS_OF
timed() {
  local name=$1 start=$SECONDS
  shift
  "$@" >"$files/$name.log" 2>&1 || {
    tail -n 5 "$files/$name.log" >&2
    die "$task: $name failed; the whole log is $files/$name.log"
  }
  SECONDS_OF[$name]=$((SECONDS - start))
}

mkdir -p "$out" || die "'$out' cannot be made: choose another --out"
out=$(cd "$out" && pwd)
table=$out/table.txt
printf '%-22s %-30s %8s %6s %9s  %s\n' task architecture prepare train evaluate "the paper's line" >"$table"
for sample in "${samples[@]}"; do
  task=${sample%%:*} arch=${sample#*:}
  files=$out/$task/files
  mkdir -p "$files"
  say "$task, $arch"
  "$PYTHON" tests/recipe_files.py "$task" "$files" "$((3 * pairs))" >"$files/files.log" 2>&1 ||
    die "$task: the files cannot be made; see $files/files.log"
  export DC_NMT_EXAMPLES=$files/examples
  common=("$task" "$arch" --sample "$pairs" --out "$out/$task" ${setup[@]+"${setup[@]}"})
  timed prepare scripts/prepare.sh "${common[@]}" --raw "$files" --downloads "$files/downloads" --any-counts
  timed train scripts/train.sh "${common[@]}"
  timed evaluate scripts/evaluate.sh "${common[@]}"
  line=$(grep "the paper's" "$files/evaluate.log" | awk '{print $1, $2}') || line="none"
  printf '%-22s %-30s %7ss %5ss %8ss  %s\n' "$task" "$arch" "${SECONDS_OF[prepare]}" \
    "${SECONDS_OF[train]}" "${SECONDS_OF[evaluate]}" "$line" >>"$table"
done
echo
cat "$table"
