#!/usr/bin/env bash
# What only a GPU can say, in fifteen minutes of one. Needs the prepared text; interrupted, the same command continues.
#
# usage: examples/europarl_en_fr/control.sh [PART …] [options]
#   PART         default: control tests speed
#     control    plain Transformers of Enc-DC's size, and Enc-DC, three seeds: is its gain one of parameters?
#                Two tables: after equally many updates, and after equal time
#     tests      the tests that need a GPU
#     speed      whole programs of four architectures against fairseq's own transformer, batches of known shapes
#     seeds      the five other systems of README with seeds 2 and 3, ten minutes a seed
#   --plain LIST kinds of plain models: wide, deep or wide,deep (default)
#   --minutes N  of training in control, default 8.8; in seeds 10.5
#   --turns N    batches of each program in speed, default 400
#   --out DIR    as of dc-nmt prepare; default runs/europarl_en_fr
#   --sample N   narrow models, on text that dc-nmt prepare made with the same --sample
#   --cpu        without a GPU, to try the script
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

HERE=$ROOT/examples/europarl_en_fr
parts=() plain=wide,deep minutes="" turns=400 out="" sample=() device=()
while [ $# -gt 0 ]; do
  case $1 in
    --plain | --minutes | --turns | --out | --sample) [ $# -ge 2 ] || die "$1 needs a value" ;;&
    --plain) plain=$2 && shift ;;
    --minutes) minutes=$2 && shift ;;
    --turns) turns=$2 && shift ;;
    --out) out=$2 && shift ;;
    --sample) sample=(--sample "$2") && shift ;;
    --cpu) device=(--cpu) ;;
    -h | --help) show_help ;;
    control | tests | speed | seeds) parts+=("$1") ;;
    *) die "'$1' is neither a part (control, tests, speed, seeds) nor an option; --help lists all" ;;
  esac
  shift
done
[ ${#parts[@]} -gt 0 ] || parts=(control tests speed)
case $plain in wide | deep | wide,deep) ;; *) die "--plain '$plain': give wide, deep or wide,deep" ;; esac
[[ $turns =~ ^[1-9][0-9]*$ ]] || die "--turns '$turns' is no number"
PATH=$PATH:$ROOT/.venv/bin # an environment that is in use comes first
need dc-nmt "run scripts/setup.sh"
export PYTHONPATH=$ROOT${PYTHONPATH:+:$PYTHONPATH}
python=python
python -c "import torch, fairseq" 2>/dev/null || python=$ROOT/.venv/bin/python # that of the system
out=${out:-runs/europarl_en_fr${sample:+-sample${sample[1]}}}
[ -d "$out/data/bin" ] || die "$out/data/bin is missing: scripts/prepare.sh europarl_en_fr --raw FOLDER ${sample[*]-} makes it"
gpu=("$HERE/gpu.sh" "${device[@]}" "${sample[@]}" --out "$out")

control() {
  local kinds systems seed time=()
  read -ra kinds <<<"${plain//,/ } transformer_dc"
  mapfile -t systems < <("$python" "$HERE/control_systems.py" --words "${kinds[@]}")
  "$python" "$HERE/control_systems.py" --data "$out/data/bin"
  "${gpu[@]}" "${systems[@]}" --seed 1 --seed 2 --seed 3 --minutes "${minutes:-8.8}" --keep "$out/control" --equal-time
  for kind in "${kinds[@]}"; do
    for seed in 1 2 3; do time+=("$out/control/equal-time/$kind-s$seed:time"); done
  done
  echo "After equally many updates:"
  dc-nmt results "$out"/control/*-s[123] --over-seeds --baseline "${kinds[0]}" --out "$out/control/results.json"
  echo "After equal time:"
  dc-nmt results "${time[@]}" --over-seeds --baseline "${kinds[0]}, time" --out "$out/control/equal-time/results.json"
}

tests() {
  (cd "$ROOT" && "$python" -m pytest -q tests/unit/compat/test_optimizer.py tests/model/test_graphs.py tests/system/test_gpu.py)
}

speed() {
  local on=(--device cuda --max-tokens 4096 --flags " --bf16") archs
  archs=(transformer_{standard,dc,cross_agg,ms_aux_aif}_iwslt)
  [ ${#device[@]} -eq 0 ] || on=(--device cpu --max-tokens 400)
  [ ${#sample[@]} -eq 0 ] || archs=("${archs[@]/%_iwslt/_micro}")
  "$python" "$ROOT/benchmarks/bench.py" programs "$out/data/bin" "${archs[@]}" --turns "$turns" "${on[@]}"
}

seeds() {
  local seed systems=(transformer_{cross_agg,mlmha,mlmha_iter_c_agg,ms_aux_aif,ctxaware})
  for seed in 2 3; do
    "${gpu[@]}" "${systems[@]}" --seed "$seed" --minutes "${minutes:-10.5}" --keep "$out/kept-s$seed"
  done
}

export OMP_NUM_THREADS=1
for part in "${parts[@]}"; do
  say "$part"
  "$part"
done
say "done: ${parts[*]}"
