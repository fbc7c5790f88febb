#!/usr/bin/env bash
# Trains the runs of this example's table: each system with seeds 1, 2 and 3, one thread each, one run for each CPU at a
# time. Every run is kept without its model in runs/ beside this file. Kept runs are not trained again; a stopped run
# continues. All runs but those on the modern base block take thirty to forty hours of one core of a Xeon.
#
# usage: examples/multi30k_en_de/table.sh [RUN …] [--dry-run] [--python VERSION]
#   RUN        SYSTEM-sSEED, such as transformer_dc-s1; default: all
#   --dry-run  print the command of each missing training run, do nothing
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

transformers=(transformer_standard transformer_dc transformer_ctxaware transformer_cross_agg transformer_mlmha
  transformer_mlmha_iter_c_agg transformer_ms_aux transformer_ms_aux_aif)
systems=("${transformers[@]}" transformer axes transformer_standard_9600 gru_selfattn_residual_baseline
  gru_selfattn_residual_mean gru_selfattn_residual transformer_standard_wide "${transformers[@]/%/_modern}")
KEPT=$ROOT/examples/multi30k_en_de/runs
export KEPT OMP_NUM_THREADS=1

# kept RUN: the folder that it is kept in. Runs on the modern base block have a table of their own, and so has
# the control: a plain model with the parameters of `axes` (4,046,400 and 4,032,000).
kept() {
  case ${1%-s*} in
    *_modern) echo "$KEPT/modern" ;;
    *_wide) echo "$KEPT/control" ;;
    *) echo "$KEPT" ;;
  esac
}

# training RUN: the words behind dc-nmt that train it.
training() {
  local system=${1%-s*} words
  case $system in
    axes) words="transformer_ms_aux_aif --encoder-self-attention dual_context --source-features m-10" ;;
    *_9600) words="${system%_9600} --max-update 9600" ;;
    *_modern) words="${system%_modern} --base modern" ;;
    *_wide)
      words="${system%_wide} --encoder-embed-dim 200 --decoder-embed-dim 200"
      words+=" --encoder-ffn-embed-dim 400 --decoder-ffn-embed-dim 400 --fp32"
      ;;
    *) words=$system ;;
  esac
  echo "run multi30k_en_de $words --name $1 --seed ${1##*-s}"
}

# train RUN: train, evaluate and keep it; what that prints goes to a log.
train() {
  local run=$1 log=runs/multi30k_en_de/$1.log words
  read -ra words <<<"$(training "$run")"
  say "$run: begins; its log is $log"
  if dc-nmt "${words[@]}" >>"$log" 2>&1 && dc-nmt export "runs/multi30k_en_de/$run" --no-model --run "$(kept "$run")/$run" >>"$log" 2>&1; then
    say "$run: kept"
  else
    tail -n 1 "$log" >&2
    die "$run failed; its log is $log, the same command continues it"
  fi
}

take_python "$@"
dry_run=no runs=()
for word in ${rest[@]+"${rest[@]}"}; do
  case $word in
    --dry-run) dry_run=yes ;;
    -h | --help) show_help ;;
    -*) die "'$word' is no option: --dry-run, --python VERSION" ;;
    *)
      [[ $word =~ ^(.+)-s[1-9][0-9]*$ && " ${systems[*]} " == *" ${BASH_REMATCH[1]} "* ]] ||
        die "'$word' is no run: give SYSTEM-sSEED, such as transformer_dc-s1; systems: ${systems[*]}"
      [[ " ${runs[*]-} " != *" $word "* ]] || die "'$word' was given twice: leave one out"
      runs+=("$word")
      ;;
  esac
done
if [ ${#runs[@]} -eq 0 ]; then
  for seed in 1 2 3; do
    for system in "${systems[@]}"; do runs+=("$system-s$seed"); done
  done
fi

missing=()
for run in "${runs[@]}"; do
  if [ ! -e "$(kept "$run")/$run" ]; then
    missing+=("$run")
    [ $dry_run = no ] || echo "dc-nmt $(training "$run")"
  fi
done
[ $dry_run = no ] || exit 0
[ ${#missing[@]} -gt 0 ] || {
  say "all of ${#runs[@]} runs are kept"
  exit 0
}

use_environment ${setup[@]+"${setup[@]}"}
mkdir -p runs/multi30k_en_de
say "${#missing[@]} of ${#runs[@]} runs are missing"
export -f kept training train say warn die
printf '%s\n' "${missing[@]}" |
  xargs -P "$("$PYTHON" "$ROOT/scripts/cpus.py")" -I RUN bash -c 'set -euo pipefail; train RUN' table.sh
