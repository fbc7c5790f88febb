#!/usr/bin/env bash
# Trains several systems of this example at once on one GPU for some minutes, then translates and scores all of them
# after equally many updates: the most for which every system has a checkpoint. Needs the prepared text. Interrupted,
# the same command continues. To train on after it has finished, remove the folder of --keep.
#
# usage: examples/europarl_en_fr/gpu.sh [SYSTEM …] [options] [-- flags of fairseq-train]
#   SYSTEM               architecture, or 'NAME=ARCHITECTURE FLAGS' with flags of its own; default: seven systems
#   --minutes N          of training; default 8
#   --seed N             default 1; given again, every system is trained with each seed
#   --keep DIR           translations, records and learning curves; default OUT/kept-sSEED
#   --equal-time         then also evaluate each system after its own last updates, as "time", into DIR/equal-time
#   --parameters SYSTEM  keep the parameters of this system too, in parts of 15 MB; may be given again
#   --out DIR            as of dc-nmt prepare; default runs/TASK
#   --task TASK          default europarl_en_fr
#   --sample N           narrow models, on text that dc-nmt prepare made with the same --sample
#   --cpu                without a GPU
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

systems=() seeds=() failed=() parameters=() flags=() sample=()
declare -A words=() # system → architecture and flags
task=europarl_en_fr minutes=8 out="" keep="" device=gpu equal_time=no

# add_system WORD: NAME, or NAME=ARCHITECTURE FLAGS. Bash evaluates a name with other characters, as in $(…).
add_system() {
  local name=${1%%=*}
  [[ $name =~ ^[A-Za-z0-9_.-]+$ ]] || die "'$name' is no name of a system: use letters, digits and _ . -"
  [[ " ${systems[*]-} " != *" $name "* ]] || die "system '$name' was given twice"
  systems+=("$name")
  words[$name]=${1#*=}
}
while [ $# -gt 0 ]; do
  case $1 in
    --minutes | --seed | --keep | --parameters | --out | --task | --sample) [ $# -ge 2 ] || die "$1 needs a value" ;;&
    --minutes) minutes=$2 && shift ;;
    --seed) seeds+=("$2") && shift ;;
    --keep) keep=$2 && shift ;;
    --parameters) parameters+=("$2") && shift ;;
    --out) out=$2 && shift ;;
    --task) task=$2 && shift ;;
    --sample) sample=(--sample "$2") && shift ;;
    --equal-time) equal_time=yes ;;
    --cpu) device=cpu ;;
    -h | --help) show_help ;;
    --)
      flags=("${@:2}")
      break
      ;;
    -*) die "unknown option '$1'; --help lists all; flags of fairseq-train come after --" ;;
    *) add_system "$1" ;;
  esac
  shift
done
if [ ${#systems[@]} -eq 0 ]; then
  for system in transformer_{standard,dc,cross_agg,mlmha,mlmha_iter_c_agg,ms_aux_aif,ctxaware}; do add_system "$system"; done
fi
[ ${#seeds[@]} -gt 0 ] || seeds=(1)
runs=() # SYSTEM-sSEED
for seed in "${seeds[@]}"; do
  [[ $seed =~ ^(0|[1-9][0-9]*)$ ]] || die "--seed '$seed' is no whole number, such as 1"
  [[ " ${runs[*]-} " != *"-s$seed "* ]] || die "--seed '$seed' was given twice"
  runs+=("${systems[@]/%/-s$seed}")
done
[[ $minutes =~ ^[0-9]+(\.[0-9]+)?$ ]] || die "--minutes '$minutes' is no number"
for system in ${parameters[@]+"${parameters[@]}"}; do
  [[ " ${systems[*]} " == *" $system "* ]] || die "--parameters '$system' is none of the systems: ${systems[*]}"
done
export OMP_NUM_THREADS=1
PATH=$PATH:$ROOT/.venv/bin # an environment that is in use comes first
need dc-nmt "run scripts/setup.sh"
name=s$(IFS=- && printf '%s' "${seeds[*]}")
out=${out:-runs/$task${sample:+-sample${sample[1]}}} keep=${keep:-$out/kept-$name}
work=$out/gpu-$name # logs, and what is finished
mkdir -p "$work" "$keep"
[ ! -e "$keep/done" ] || { say "$keep is complete: remove it to train on" && exit 0; }

training=(--bf16 --keep-interval-updates 25 --max-tokens-valid 16384) machine=(--gpus 1) decoding=(--max-tokens 16384)
[ $device = gpu ] || training=(--keep-interval-updates 25) machine=(--gpus 0) decoding=(--cpu)

# choose RUN: sets `chosen_run`, the words by which dc-nmt finds its text, architecture and folder
choose() {
  local arch=${words[${1%-s*}]}
  chosen_run=("$task" "${arch%% *}" --name "$1" --seed "${1##*-s}" --out "$out" ${sample[@]+"${sample[@]}"})
}
# updates_of RUN: those of its checkpoints, one a line
updates_of() {
  find "$out/$1/checkpoints" -maxdepth 1 -name 'checkpoint_*_*.pt' 2>/dev/null |
    sed 's/.*_//; s/\.pt$//' | sort -n || true # without a folder, none
}
# last_common RUN…: the last update for which all of them have a checkpoint
last_common() {
  local run
  for run in "$@"; do updates_of "$run"; done | sort -n | uniq -c | awk -v n=$# '$1 == n { last = $2 } END { print last }'
}
# put_aside UPDATE RUN…: their checkpoints of later updates
put_aside() {
  local run update
  for run in "${@:2}"; do
    mkdir -p "$out/$run/later"
    for update in $(updates_of "$run"); do
      [ "$update" -le "$1" ] || mv "$out/$run"/checkpoints/checkpoint_*_"$update".pt "$out/$run/later/"
    done
  done
}
# bring_back RUN…: what was put aside
bring_back() {
  local run
  for run in "$@"; do
    [ -d "$out/$run/later" ] || continue
    find "$out/$run/later" -name '*.pt' -exec mv -f {} "$out/$run/checkpoints/" \;
    rmdir "$out/$run/later"
  done
}

# together WHAT RUN…: calls the function WHAT for all runs at once, with a log each. Shows a failure at once, and
# enters it in `failed`. Stops them all after `limit` seconds, or when this script is stopped.
together() {
  local what=$1 began=$SECONDS run shown=$SECONDS
  jobs=()
  set -m # each job is a group of processes, which is stopped as a whole
  for run in "${@:2}"; do
    "$what" "$run" >>"$work/$what-$run.log" 2>&1 &
    jobs[$run]=$!
  done
  set +m
  while [ ${#jobs[@]} -gt 0 ]; do
    sleep 1
    for run in "${!jobs[@]}"; do
      kill -0 "${jobs[$run]}" 2>/dev/null && continue
      if wait "${jobs[$run]}"; then
        say "$what: $run is finished"
      else
        failed+=("$run")
        warn "$what: $run failed:"
        tail -n 15 "$work/$what-$run.log" >&2
      fi
      unset "jobs[$run]"
    done
    if [ -n "$limit" ] && [ $((SECONDS - began)) -ge "$limit" ] && [ ${#jobs[@]} -gt 0 ]; then
      stop
    elif [ $((SECONDS - shown)) -ge 15 ]; then
      shown=$SECONDS
      progress "$what" "${!jobs[@]}"
    fi
  done
}

# stop: ends all jobs, with the programs that they started.
stop() {
  [ ${#jobs[@]} -gt 0 ] || return 0
  kill -- "${jobs[@]/#/-}" 2>/dev/null || true
  wait "${jobs[@]}" 2>/dev/null || true
  jobs=()
}

# progress WHAT RUN…: one line with the last update of each in training, else the names.
progress() {
  local line="$1:" run
  for run in "${@:2}"; do
    line+=" $run"
    [ "$1" != train ] || line+="=$(tail -n 30 "$out/$run/train.log" 2>/dev/null |
      sed -n 's/.*"num_updates": "\([0-9]*\)".*/\1/p' | tail -n 1 || true)"
  done
  say "$line"
}

train() {
  local graphs=() words_of_run
  choose "$1"
  read -ra words_of_run <<<"${words[${1%-s*}]}"
  # not fairseq's own, not recurrent ones
  [[ $device = cpu || ${words_of_run[0]} != transformer_* ]] || graphs=(--cuda-graphs)
  exec dc-nmt train "${chosen_run[@]}" "${machine[@]}" "${training[@]}" ${graphs[@]+"${graphs[@]}"} \
    "${words_of_run[@]:1}" ${flags[@]+"${flags[@]}"}
}

# evaluate RUN: the test set, then each further one; every set is kept as soon as it is scored.
evaluate() {
  decode "$keep/$1" "$1"
  [[ " ${parameters[*]-} " != *" ${1%-s*} "* ]] || pack "$1"
}

# evaluate_time RUN: the same with the checkpoints that are there then.
evaluate_time() {
  decode "$keep/equal-time/$1" "$1" --as time
}

# decode FOLDER RUN [options of dc-nmt evaluate]
decode() {
  local subset count mean=5 average=() # the mean of five, as in the recipe
  [ ${#sample[@]} -eq 0 ] || mean=2
  count=$(updates_of "$2" | wc -l)
  [ "$count" -ge $mean ] || average=(--average "$count") # too short a training
  choose "$2"
  for subset in test europarl; do
    [ -e "$out/data/raw/$subset.en" ] || continue
    dc-nmt evaluate "${chosen_run[@]}" --subset "$subset" "${@:3}" ${average[@]+"${average[@]}"} "${decoding[@]}"
    dc-nmt export "$out/$2" --no-model --run "$1" >/dev/null
  done
}

# pack RUN: its mean parameters in half precision, with dictionaries and codes, in parts.
pack() {
  local model=$work/models
  dc-nmt export "$out/$1" --run "$model/$1" >/dev/null
  tar -C "$model" -c "$1" | split -b 15m - "$keep/$1.tar."
}

declare -A jobs=()
trap stop EXIT
trap 'die "stopped; the same command continues"' TERM INT
if [ $device = gpu ] && command -v nvidia-cuda-mps-control >/dev/null; then
  export CUDA_MPS_PIPE_DIRECTORY=/tmp/dc-nmt-mps CUDA_MPS_LOG_DIRECTORY=/tmp/dc-nmt-mps
  mkdir -p $CUDA_MPS_PIPE_DIRECTORY
  if nvidia-cuda-mps-control -d && timeout 60 python3 -c 'import torch; torch.ones(9, device="cuda").sum().item()'; then
    say "the systems share the GPU by MPS"
    trap 'stop; echo quit | nvidia-cuda-mps-control >/dev/null 2>&1' EXIT
  else
    warn "MPS does not work here: the systems take turns"
    echo quit | timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1 || true
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  fi
fi

if [ ! -e "$work/trained" ]; then
  bring_back "${runs[@]}"
  say "training ${#runs[@]} systems for $minutes minutes; logs are in $work"
  limit=$(awk "BEGIN { print int(60 * $minutes) }")
  together train "${runs[@]}"
fi

# systems that did not fail are compared after equally many updates
remaining=()
for run in "${runs[@]}"; do
  [[ " ${failed[*]-} " == *" $run "* ]] || remaining+=("$run")
done
runs=(${remaining[@]+"${remaining[@]}"})
[ ${#runs[@]} -gt 0 ] || die "every system failed"
limit=""
if [ ! -e "$work/evaluated" ]; then
  chosen=$(last_common "${runs[@]}")
  [ -n "$chosen" ] || die "no number of updates for which every system has a checkpoint: the same command trains on"
  [ ${#failed[@]} -gt 0 ] || touch "$work/trained"
  put_aside "$chosen" "${runs[@]}"
  say "every system is evaluated after $chosen updates"
  together evaluate "${runs[@]}"
  [ ${#failed[@]} -gt 0 ] || touch "$work/evaluated"
fi

# after equal time: each system at the last update that all of its seeds have reached
if [ $equal_time = yes ] && [ ${#failed[@]} -eq 0 ]; then
  bring_back "${runs[@]}"
  for system in "${systems[@]}"; do
    chosen=$(last_common "${seeds[@]/#/$system-s}")
    put_aside "$chosen" "${seeds[@]/#/$system-s}"
    say "after equal time, $system is evaluated after $chosen updates"
  done
  mkdir -p "$keep/equal-time"
  together evaluate_time "${runs[@]}"
fi
cp "$work"/*.log "$keep/"
[ ${#failed[@]} -eq 0 ] || die "failed: ${failed[*]}: fix it, then the same command continues"
touch "$keep/done"
say "done: $keep"
